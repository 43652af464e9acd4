#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "agent/cmd/ctl/human.h"
#include "agent/cmd/ctl/show.h"
#include "agent/cmd/ctl/text_table.h"
#include "agent/cmd/ctl/wrap.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;

// What fits on one screen of 24 to 40 lines; -o wide shows all.
constexpr int kHolders = 3;
constexpr int kBeliefs = 10;
constexpr int kConnections = 6;

constexpr int kRecentOfAgent = 20;  // how many connections to an address an agent tells at most

std::string VerdictLine(const pb::AddressExplanation& e) {
  std::string out = fmt::format("{} at {}: {}", e.address(), HumanTimeWithZone(e.time()),
                                pb::DestinationClass_Name(e.destination_class()));
  if (e.certainty() != pb::CERTAINTY_UNSPECIFIED) {
    out += ", " + pb::Certainty_Name(e.certainty());
  }
  if (e.unknown_reason() != pb::UNKNOWN_REASON_UNSPECIFIED) {
    out += " (" + pb::UnknownReason_Name(e.unknown_reason()) + ")";
  }
  return out + "\n";
}

// "between 18:59:02.250 and 18:59:02.750", "at ...", or which bound is known.
std::string Released(const pb::Holder& holder, const std::string& date) {
  if (!holder.has_released_not_after()) {
    // A start without an end: it may be gone since then, but nothing says so.
    return holder.has_released_not_before()
               ? "not before " + HumanTimeOn(date, holder.released_not_before())
               : "still held";
  }
  const std::string after = HumanTimeOn(date, holder.released_not_after());
  if (!holder.has_released_not_before()) return "by " + after;
  const std::string before = HumanTimeOn(date, holder.released_not_before());
  return before == after ? "at " + after : fmt::format("between {} and {}", before, after);
}

std::string HolderText(const pb::Holder& holder, const std::string& date) {
  const pb::PodRef& pod = holder.pod();
  std::string out = fmt::format("  {}/{}", pod.namespace_(), pod.name());
  if (!pod.workload().name().empty()) {
    out += fmt::format(" of {} {}", pod.workload().kind(), pod.workload().name());
  }
  if (!pod.revision().empty()) out += ", revision " + pod.revision();
  if (!pod.node_name().empty()) out += ", on " + pod.node_name();
  out = Wrapped(out, 4);
  const auto line = [&](const char* label, const std::string& text) {
    out += Wrapped(fmt::format("    {:<9} {}", label, text), 16);
  };
  if (holder.has_acquired()) line("acquired", HumanTimeOn(date, holder.acquired()));
  std::string withdrawn =
      holder.has_withdrawn() ? HumanTimeOn(date, holder.withdrawn()) : "not withdrawn";
  if (holder.departure() != pb::DEPARTURE_UNSPECIFIED) {
    withdrawn += ", " + pb::Departure_Name(holder.departure());
  }
  line("withdrawn", withdrawn);
  std::string released = Released(holder, date);
  if (!holder.evidence().empty()) released += " (" + holder.evidence() + ")";
  line("released", released);
  return out;
}

std::string NoHolderText(const pb::AddressExplanation& e) {
  return e.destination_class() == pb::DEAD
             ? "\nNo pod is known to have held it: an address of pods that nobody holds is DEAD.\n"
             : "\nNo pod is known to have held it.\n";
}

// The proxies that listed it, by cluster: who believed in it, and until when.
std::string BeliefText(const pb::AddressExplanation& e, const std::string& date, Detail detail,
                       int limit) {
  std::map<std::string, std::vector<const pb::AddressExplanation::Belief*>> by_cluster;
  for (int i = 0; i < std::min(limit, e.beliefs_size()); ++i) {
    by_cluster[e.beliefs(i).cluster()].push_back(&e.beliefs(i));
  }
  std::string out;
  for (const auto& [cluster, beliefs] : by_cluster) {
    out += "  " + cluster + "\n";
    TextTable table({{"PROXY", TextTable::Column::kLeft, 0, kShortestName},
                     {"BELIEVES"},
                     {"SINCE"},
                     {"UNTIL"},
                     {"HEALTH"}});
    for (const auto* b : beliefs) {
      std::string until = "last seen " + HumanTimeOn(date, b->last_seen());
      if (b->has_gone_by()) {
        until = fmt::format("{} to {}", HumanTimeOn(date, b->last_seen()),
                            HumanTimeOn(date, b->gone_by()));
      }
      table.Add({b->proxy_name(), b->believes() ? "yes" : "no", HumanTimeOn(date, b->first_seen()),
                 until, b->health()});
    }
    out += table.Text(4, detail == Detail::kWide ? std::string::npos : kScreen);
  }
  return out;
}

std::string ConnectionText(const pb::AddressExplanation& e, Detail detail, int limit) {
  pb::ListConnectionsResponse list;
  for (int i = 0; i < std::min(limit, e.recent_size()); ++i) {
    *list.add_connections() = e.recent(i);
  }
  return Show(list, detail);
}

std::string More(int shown, int all) {
  return shown >= all ? "" : fmt::format("  and {} more: -o wide\n", all - shown);
}

}  // namespace

std::string Show(const pb::AddressExplanation& e, Detail detail) {
  const auto limit = [&](int limit) { return detail == Detail::kWide ? 1 << 30 : limit; };
  const std::string date = HumanDate(e.time());
  std::string out = VerdictLine(e);
  out += e.holders().empty() ? NoHolderText(e) : "\nHeld by\n";
  for (int i = 0; i < std::min(limit(kHolders), e.holders_size()); ++i) {
    out += HolderText(e.holders(i), date);
  }
  out += More(limit(kHolders), e.holders_size());
  out += e.beliefs().empty() ? "\nNo proxy is known to have listed it.\n" : "\nBelieved in by\n";
  out += BeliefText(e, date, detail, limit(kBeliefs)) + More(limit(kBeliefs), e.beliefs_size());
  if (e.recent().empty()) return out + "\nNo connections to it while withdrawn, dead or reused.\n";
  out += "\nNewest connections to it while withdrawn, dead or reused\n";
  out +=
      ConnectionText(e, detail, limit(kConnections)) + More(limit(kConnections), e.recent_size());
  if (e.recent_size() >= kRecentOfAgent) {
    out += fmt::format("  an agent tells the newest {}; older ones: phantomctl connections\n",
                       kRecentOfAgent);
  }
  return out;
}

}  // namespace phantomd
