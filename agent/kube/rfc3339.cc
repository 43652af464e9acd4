#include "agent/kube/rfc3339.h"

#include <fmt/format.h>

#include <chrono>

namespace phantomd {
namespace {

// Takes pieces off the front of a text; the first that does not fit makes it bad for good.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  // Exactly `digits` decimal digits.
  int Number(int digits) {
    int out = 0;
    for (int i = 0; i < digits; ++i) {
      if (!AtDigit()) {
        ok_ = false;
        return 0;
      }
      out = out * 10 + TakeDigit();
    }
    return out;
  }
  bool Skip(char either, char other) {
    if (rest_.empty() || (rest_.front() != either && rest_.front() != other)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void Expect(char either, char other) { ok_ = Skip(either, other) && ok_; }
  void Expect(char c) { Expect(c, c); }
  bool AtDigit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
  int TakeDigit() {
    const int out = rest_.front() - '0';
    rest_.remove_prefix(1);
    return out;
  }
  void Fail() { ok_ = false; }
  bool ok_to_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

constexpr int kFirstYear = 1678;
constexpr int kLastYear = 2261;

constexpr int64_t BeginOf(int year) {
  const std::chrono::sys_days day = std::chrono::year(year) / std::chrono::January / 1;
  return std::chrono::seconds(day.time_since_epoch()).count();
}

int64_t Fraction(Scanner& scanner) {
  if (!scanner.AtDigit()) scanner.Fail();
  int64_t out = 0;
  for (int64_t weight = 100'000'000; scanner.AtDigit(); weight /= 10) {
    out += scanner.TakeDigit() * weight;
  }
  return out;
}

std::chrono::minutes Offset(Scanner& scanner) {
  if (scanner.Skip('Z', 'z')) return std::chrono::minutes(0);
  const bool negative = scanner.Skip('-', '-');
  if (!negative) scanner.Expect('+');
  const int hours = scanner.Number(2);
  scanner.Expect(':');
  const int minutes = scanner.Number(2);
  if (hours > 23 || minutes > 59) scanner.Fail();
  const std::chrono::minutes out(hours * 60 + minutes);
  return negative ? -out : out;
}

}  // namespace

absl::StatusOr<WallTime> ParseRfc3339(std::string_view text) {
  using std::chrono::day;
  using std::chrono::month;
  using std::chrono::year;
  Scanner scanner(text);
  const int y = scanner.Number(4);
  scanner.Expect('-');
  const int m = scanner.Number(2);
  scanner.Expect('-');
  const int d = scanner.Number(2);
  scanner.Expect('T', 't');
  const int hour = scanner.Number(2);
  scanner.Expect(':');
  const int minute = scanner.Number(2);
  scanner.Expect(':');
  const int second = scanner.Number(2);
  const int64_t nanos = scanner.Skip('.', '.') ? Fraction(scanner) : 0;
  const std::chrono::minutes offset = Offset(scanner);

  const std::chrono::year_month_day date{year(y), month(static_cast<unsigned>(m)),
                                         day(static_cast<unsigned>(d))};
  // A second 60 is a leap second.
  if (!scanner.ok_to_end() || !date.ok() || hour > 23 || minute > 59 || second > 60 ||
      y < kFirstYear || y > kLastYear) {
    return absl::InvalidArgumentError(fmt::format("not a time in RFC 3339: \"{}\"", text));
  }
  const std::chrono::seconds since_epoch = std::chrono::sys_days(date).time_since_epoch() +
                                           std::chrono::hours(hour) + std::chrono::minutes(minute) +
                                           std::chrono::seconds(second) - offset;
  return WallTime::FromNanos(Nanos(since_epoch).count() + nanos);
}

absl::StatusOr<WallTime> WallTimeOfSeconds(int64_t seconds) {
  if (seconds < BeginOf(kFirstYear) || seconds >= BeginOf(kLastYear + 1)) {
    return absl::InvalidArgumentError(fmt::format("{} s since 1970 is not in the years {} to {}",
                                                  seconds, kFirstYear, kLastYear));
  }
  return WallTime::FromNanos(Nanos(std::chrono::seconds(seconds)).count());
}

}  // namespace phantomd
