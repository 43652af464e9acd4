#include "agent/cmd/ctl/human.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <regex>
#include <vector>

namespace phantomd {
namespace {

using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;

std::tm LocalTime(const Timestamp& time) {
  const std::time_t seconds = time.seconds();
  std::tm out{};
  localtime_r(&seconds, &out);
  return out;
}

std::string TimeOfDay(const Timestamp& time) {
  const std::tm tm = LocalTime(time);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", tm.tm_hour, tm.tm_min, tm.tm_sec,
                     time.nanos() / 1'000'000);
}

// 3.02, 1.5, 25, 100: three significant digits, without zeros at the end.
std::string ThreeDigits(double value) {
  std::string out = fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
  if (out.find('.') == std::string::npos) return out;
  out.erase(out.find_last_not_of('0') + 1);
  if (out.ends_with('.')) out.pop_back();
  return out;
}

int ToInt(const std::ssub_match& match) { return std::atoi(match.str().c_str()); }

}  // namespace

std::string HumanDuration(const google::protobuf::Duration& duration) {
  const int64_t nanos = TimeUtil::DurationToNanoseconds(duration);
  if (nanos < 0) return "-" + HumanDuration(TimeUtil::NanosecondsToDuration(-nanos));
  const double value = static_cast<double>(nanos);
  // The limits are those at which three digits round up to the next unit.
  if (nanos == 0) return "0s";
  if (value < 999.5) return fmt::format("{}ns", nanos);
  if (value < 999.5e3) return ThreeDigits(value / 1e3) + "µs";
  if (value < 999.5e6) return ThreeDigits(value / 1e6) + "ms";
  if (value < 59.95e9) return ThreeDigits(value / 1e9) + "s";
  const int64_t seconds = (nanos + 500'000'000) / 1'000'000'000;
  if (seconds < 3600) return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  const int64_t minutes = (seconds + 30) / 60;
  return fmt::format("{}h{:02}m", minutes / 60, minutes % 60);
}

std::string HumanDate(const Timestamp& time) {
  const std::tm tm = LocalTime(time);
  return fmt::format("{:04}-{:02}-{:02}", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

std::string HumanTime(const Timestamp& time) { return HumanDate(time) + "T" + TimeOfDay(time); }

std::string HumanTimeWithZone(const Timestamp& time) {
  const long offset = LocalTime(time).tm_gmtoff;
  const long minutes = std::labs(offset) / 60;
  return HumanTime(time) +
         fmt::format("{}{:02}:{:02}", offset < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::string HumanTimeOn(const std::string& date, const Timestamp& time) {
  return HumanDate(time) == date ? TimeOfDay(time) : HumanTime(time);
}

std::string HumanCount(uint64_t count, bool lower_bound) {
  return (lower_bound ? ">=" : "") + std::to_string(count);
}

std::string HumanCounts(const google::protobuf::RepeatedPtrField<phantom::v1::Count>& counts) {
  std::vector<const phantom::v1::Count*> sorted;
  for (const auto& entry : counts) {
    if (entry.count() > 0) sorted.push_back(&entry);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->count() > b->count(); });
  std::string out;
  for (const auto* entry : sorted) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", entry->count(), entry->key());
  }
  return out.empty() ? "none" : out;
}

std::string Plural(uint64_t count, std::string_view noun) {
  if (count == 1) return fmt::format("1 {}", noun);
  return fmt::format("{} {}{}", count, noun, noun.ends_with('x') ? "es" : "s");
}

absl::StatusOr<Timestamp> ParseTime(std::string_view text, const Timestamp& now) {
  static const std::regex kForm(
      R"((?:(\d{4})-(\d\d)-(\d\d)[T ])?(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|([+-])(\d\d):?(\d\d))?)");
  const std::string whole(text);
  std::smatch part;
  if (!std::regex_match(whole, part, kForm)) {
    return absl::InvalidArgumentError(
        fmt::format("\"{}\" is no time: 2026-11-29T18:59:03, with Z or +01:00 if not local, or "
                    "18:59:03 of today",
                    text));
  }
  std::tm tm = LocalTime(now);
  if (part[1].matched) {
    tm.tm_year = ToInt(part[1]) - 1900;
    tm.tm_mon = ToInt(part[2]) - 1;
    tm.tm_mday = ToInt(part[3]);
  }
  tm.tm_hour = ToInt(part[4]);
  tm.tm_min = ToInt(part[5]);
  tm.tm_sec = ToInt(part[6]);
  tm.tm_isdst = -1;
  const std::tm asked = tm;
  Timestamp out;
  if (part[8].matched) {
    const int minutes = ToInt(part[10]) * 60 + ToInt(part[11]);
    out.set_seconds(timegm(&tm) - (part[9] == "-" ? -60 : 60) * minutes);
  } else {
    out.set_seconds(std::mktime(&tm));
  }
  // A day or hour that does not exist is moved to one that does.
  if (tm.tm_mday != asked.tm_mday || tm.tm_mon != asked.tm_mon || tm.tm_min != asked.tm_min ||
      tm.tm_sec != asked.tm_sec || asked.tm_hour > 23) {
    return absl::InvalidArgumentError(fmt::format("\"{}\": there is no such time", text));
  }
  std::string fraction = part[7].str();
  fraction.resize(9, '0');
  out.set_nanos(std::atoi(fraction.c_str()));
  return out;
}

}  // namespace phantomd
