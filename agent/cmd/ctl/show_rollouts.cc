#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <optional>

#include "agent/cmd/ctl/human.h"
#include "agent/cmd/ctl/show.h"
#include "agent/cmd/ctl/text_table.h"
#include "agent/cmd/ctl/wrap.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using Column = TextTable::Column;

// The longest window; while the change goes on it may still grow.
std::string LongestWindow(const pb::Rollout& rollout) {
  if (!rollout.has_window_max()) return kNone;
  return (rollout.has_finished() ? "" : ">") + HumanDuration(rollout.window_max());
}

// "ROLLOUT of Deployment shop/catalog from 5b6d to 7d9f8c, 3 pods departed".
std::string Headline(const pb::Rollout& rollout) {
  std::string out = fmt::format("{} of {} {}/{}", pb::Departure_Name(rollout.departure()),
                                rollout.workload().kind(), rollout.workload().namespace_(),
                                rollout.workload().name());
  if (!rollout.from_revision().empty()) out += " from " + rollout.from_revision();
  if (!rollout.to_revision().empty()) out += " to " + rollout.to_revision();
  return out + ", " + Plural(rollout.pods_departed(), "pod") + " departed";
}

std::string WaitedLine(const pb::Rollout& rollout) {
  if (!rollout.has_wait_max()) return "no time";
  std::string out;
  if (rollout.has_wait_p50()) out += HumanDuration(rollout.wait_p50()) + " median, ";
  return out + fmt::format("{} at most, {} in all", HumanDuration(rollout.wait_max()),
                           HumanDuration(rollout.wait_total()));
}

// "2 EXPIRED (900s median, 930s at most after their pod), 1 RESET (4s after its pod)".
std::string StrandedLine(const pb::Rollout& rollout) {
  if (rollout.stranded_after().empty()) return HumanCounts(rollout.stranded_by_end());
  std::string out;
  for (const pb::StrandedConnections& s : rollout.stranded_after()) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", s.count(), s.how());
    if (!s.has_after_max()) continue;
    const std::string median = s.has_after_p50() ? HumanDuration(s.after_p50()) + " median, " : "";
    out += s.count() == 1 ? fmt::format(" ({} after its pod)", HumanDuration(s.after_max()))
                          : fmt::format(" ({}{} at most after their pod)", median,
                                        HumanDuration(s.after_max()));
  }
  return out;
}

std::string WindowLine(const pb::Rollout& rollout) {
  if (!rollout.has_window_max()) return "none known";
  std::string out;
  if (rollout.has_window_p50()) out += HumanDuration(rollout.window_p50()) + " median, ";
  return out + (rollout.has_finished() ? LongestWindow(rollout) + " at most"
                                       : HumanDuration(rollout.window_max()) + " so far at most");
}

// Open windows grow until the same instant: that of the answer, which the longest of them tells
// unless a closed one is longer.
std::optional<google::protobuf::Timestamp> AnsweredAt(const pb::Rollout& rollout) {
  std::optional<google::protobuf::Timestamp> first_opened;
  for (const pb::ProxyWindow& w : rollout.windows()) {
    if (w.has_closed()) {
      if (w.closed() - w.opened() >= rollout.window_max()) return std::nullopt;
    } else if (!first_opened.has_value() || w.opened() < *first_opened) {
      first_opened = w.opened();
    }
  }
  if (!first_opened.has_value()) return std::nullopt;
  return *first_opened + rollout.window_max();
}

TextTable WindowTable(const pb::Rollout& rollout) {
  TextTable table({{"PROXY", Column::kLeft, 0, kShortestName},
                   {"OPENED"},
                   {"CLOSED"},
                   {"WINDOW", Column::kRight},
                   {"ATTEMPTS", Column::kRight},
                   {"PHANTOMS", Column::kRight},
                   {"LAST CONNECT"}});
  const auto answered = AnsweredAt(rollout);
  for (const pb::ProxyWindow& w : rollout.windows()) {
    const std::string date = HumanDate(w.opened());
    std::string length = kNone;
    if (w.has_closed()) {
      length = HumanDuration(w.closed() - w.opened());
      if (w.has_closed_error()) length += "±" + HumanDuration(w.closed_error());
    } else if (answered.has_value()) {
      length = ">" + HumanDuration(*answered - w.opened());
    }
    table.Add({w.proxy_name(), HumanTimeOn(date, w.opened()),
               w.has_closed() ? HumanTimeOn(date, w.closed()) : "open", length,
               std::to_string(w.attempts()), std::to_string(w.phantoms()),
               w.has_last_connection() ? HumanTimeOn(date, w.last_connection()) : kNone});
  }
  return table;
}

}  // namespace

std::string Show(const pb::ListRolloutsResponse& rollouts, Detail detail) {
  if (rollouts.rollouts().empty()) return "No rollouts.\n";
  std::vector<Column> columns = {{"NAME"},
                                 {"PODS", Column::kRight},
                                 {"ATTEMPTS", Column::kRight},
                                 {"WITHDRAWN", Column::kRight},
                                 {"DEAD", Column::kRight},
                                 {"REUSED", Column::kRight},
                                 {"WINDOW", Column::kRight}};
  if (detail == Detail::kWide) {
    columns.insert(columns.end(), {{"STARTED"},
                                   {"FINISHED"},
                                   {"FROM"},
                                   {"OTHER", Column::kRight},
                                   {"WAIT MAX", Column::kRight},
                                   {"STRANDED", Column::kRight},
                                   {"CAUSES"},
                                   {"LAYERS"}});
  }
  TextTable table(columns);
  for (const pb::Rollout& r : rollouts.rollouts()) {
    std::vector<std::string> row = {r.name(),
                                    std::to_string(r.pods_departed()),
                                    HumanCount(r.attempts(), r.lower_bounds()),
                                    HumanCount(r.withdrawn(), r.lower_bounds()),
                                    HumanCount(r.dead(), r.lower_bounds()),
                                    HumanCount(r.reused(), r.lower_bounds()),
                                    LongestWindow(r)};
    if (detail == Detail::kWide) {
      row.insert(
          row.end(),
          {HumanTime(r.started()), r.has_finished() ? HumanTime(r.finished()) : "going on",
           r.from_revision().empty() ? kNone : r.from_revision(), std::to_string(r.other()),
           r.has_wait_max() ? HumanDuration(r.wait_max()) : kNone, std::to_string(r.stranded()),
           HumanCounts(r.by_cause()), HumanCounts(r.by_layer())});
    }
    table.Add(std::move(row));
  }
  return table.Text();
}

std::string Show(const pb::Rollout& rollout, Detail detail) {
  std::string out = rollout.name() + "\n" + Headline(rollout) + "\n";
  const auto line = [&](const char* label, const std::string& text) {
    out += Wrapped(fmt::format("{:<9} {}", label, text), 12);
  };
  line("Started", HumanTimeWithZone(rollout.started()));
  line("Finished", rollout.has_finished() ? HumanTimeWithZone(rollout.finished()) : "going on");
  line("Attempts", fmt::format("{} after withdrawal: {} WITHDRAWN, {} DEAD, {} REUSED, {} other",
                               rollout.attempts(), rollout.withdrawn(), rollout.dead(),
                               rollout.reused(), rollout.other()));
  if (rollout.lower_bounds()) {
    line("Lost",
         rollout.attempts_lost() > 0
             ? fmt::format("{} while it went on, to this or another destination: the counts "
                           "are lower bounds",
                           Plural(rollout.attempts_lost(), "attempt"))
             : "an unknown number of attempts while it went on: the counts are lower bounds");
  }
  line("Causes", HumanCounts(rollout.by_cause()));
  line("Outcomes", HumanCounts(rollout.by_outcome()));
  line("Layers", HumanCounts(rollout.by_layer()));
  line("Waited", WaitedLine(rollout));
  line("Stranded", StrandedLine(rollout));
  line("Windows", WindowLine(rollout));
  const std::string windows =
      WindowTable(rollout).Text(0, detail == Detail::kWide ? std::string::npos : kScreen);
  return windows.empty() ? out : out + "\n" + windows;
}

}  // namespace phantomd
