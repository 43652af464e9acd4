#include "tests/testing/report_text.h"

#include <algorithm>
#include <map>

#include "agent/verdict/names.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace phantomd::testing {
namespace {

std::string Text(BootTime t) {
  return t.is_set() ? fmt::format("{:.6f}", static_cast<double>(t.nanos()) / 1e9) : "-";
}
std::string Text(Nanos d) { return fmt::format("{}ns", d.count()); }

std::string Text(const PodRef& pod) {
  return fmt::format("{}/{}[{}] {}/{} {} on {}", pod.ns, pod.name, pod.uid.value(),
                     pod.workload.kind, pod.workload.name, pod.revision, pod.node_name);
}

std::string Text(const Holder& holder) {
  return fmt::format("({} acq {} wdn {} rel {}..{} dep {} by {})", Text(holder.pod),
                     Text(holder.acquired), Text(holder.withdrawn),
                     Text(holder.released_not_before), Text(holder.released_not_after),
                     static_cast<int>(holder.departure), holder.evidence);
}

std::string Text(const Counts& counts) {
  std::string out;
  for (const auto& [key, count] : counts) out += fmt::format(" {}={}", key, count);
  return out;
}

std::string Text(const Histogram& h) {
  return fmt::format("{} sum {} n {}", fmt::join(h.buckets, ","), h.sum_seconds, h.count);
}

std::string Text(const StatusReport& s) {
  std::string out = fmt::format(
      "status {} {} started {} judged_until {} horizon {} attempts {}:{} lost{} late{} proxies {} "
      "without {} pods {} tombstones {} held {} dropped {} not_judged {}:{}\n",
      s.node_name, s.agent_version, Text(s.started), Text(s.judged_until), Text(s.horizon),
      s.attempts, Text(s.attempts_by_class), Text(s.lost), Text(s.late), s.proxies,
      s.proxies_without_belief, s.pods_indexed, s.tombstones, s.held, s.connections_dropped,
      s.not_judged, Text(s.not_judged_by_initiator));
  for (const Loss& loss : s.losses) {
    out += fmt::format("loss {} {} {} {}..{} {}\n", loss.what, loss.count, loss.count_unknown,
                       Text(loss.from), Text(loss.to), loss.proxy_id.value());
  }
  for (const FeedStatus& feed : s.feeds) {
    out +=
        fmt::format("feed {} synced {} last {} relists {} good {}\n", static_cast<int>(feed.feed),
                    feed.synced, Text(feed.last_change), feed.relists, Text(feed.good_until));
  }
  return out;
}

std::string Text(const RolloutReport& r) {
  std::string out = fmt::format(
      "rollout {} {}/{} {}->{} dep {} {}..{} pods {} attempts {}={}+{}+{}+{} cause{} outcome{} "
      "layer{} window {} {} wait {} {} {} stranded {}{} lost {} {}\n",
      r.name, r.workload.kind, r.workload.name, r.from_revision, r.to_revision,
      static_cast<int>(r.departure), Text(r.started), Text(r.finished), r.pods_departed, r.attempts,
      r.withdrawn, r.dead, r.reused, r.other, Text(r.by_cause), Text(r.by_outcome),
      Text(r.by_layer), Text(r.window_p50), Text(r.window_max), Text(r.wait_p50), Text(r.wait_max),
      Text(r.wait_total), r.stranded, Text(r.stranded_by_end), r.attempts_lost, r.lower_bounds);
  for (const RolloutReport::Stranded& s : r.stranded_after) {
    out += fmt::format("  stranded {} {} after {} {}\n", s.how, s.count, Text(s.after_p50),
                       Text(s.after_max));
  }
  for (const ProxyWindow& w : r.windows) {
    out += fmt::format("  window {} {} {}..{}+-{} last {} attempts {} phantoms {}\n",
                       w.proxy_id.value(), w.proxy_name, Text(w.opened), Text(w.closed),
                       Text(w.closed_error), Text(w.last_connection), w.attempts, w.phantoms);
  }
  return out;
}

std::string Text(const SourceLabels& s) { return fmt::format("{}/{}/{}", s.ns, s.workload, s.pod); }

std::string Text(const MetricCells& cells) {
  std::string out;
  for (const auto& c : cells.attempts) {
    out += fmt::format("cell attempts {} {} {} {} {}\n", Text(c.source), NameOf(c.initiator),
                       NameOf(c.destination_class), NameOf(c.outcome), c.count);
  }
  for (const auto& c : cells.connections) {
    out += fmt::format("cell connections {} {}/{}/{} {} {} {} {} {} {}\n", Text(c.source),
                       c.destination.ns, c.destination.workload, c.destination.revision,
                       NameOf(c.destination_class), static_cast<int>(c.certainty), NameOf(c.cause),
                       NameOf(c.outcome), NameOf(c.layer), c.count);
  }
  for (const auto& c : cells.waits) {
    out += fmt::format("cell wait {}/{} {}/{} {} {} {}\n", c.source_ns, c.source_workload,
                       c.destination_ns, c.destination_workload, NameOf(c.destination_class),
                       NameOf(c.outcome), Text(c.histogram));
  }
  for (const auto& c : cells.windows) {
    out += fmt::format("cell window {}/{} {}\n", c.destination_ns, c.destination_workload,
                       Text(c.histogram));
  }
  for (const auto& c : cells.stale) {
    out +=
        fmt::format("cell stale {} {} {}\n", Text(c.source), NameOf(c.destination_class), c.count);
  }
  return out;
}

}  // namespace

std::string TextOf(const Connection& c) {
  return fmt::format(
      "{} {} {} {} {}->{} at {} for {} {} errno {} retr {} {} cert {} reason {} {} {} [{}] last {} "
      "current {} outcome {} wdn {} dead {} cookie {}",
      c.sequence, c.proxy_id.value(), c.proxy_name, NameOf(c.initiator), c.source.ToString(),
      c.destination.ToString(), Text(c.started), Text(c.duration), NameOf(c.outcome),
      c.error_number, c.syn_retransmits, NameOf(c.destination_class), static_cast<int>(c.certainty),
      static_cast<int>(c.unknown_reason), NameOf(c.cause), NameOf(c.layer), c.cluster,
      Text(c.last_holder), Text(c.current_holder), Text(c.holder_at_outcome),
      Text(c.since_withdrawn), Text(c.since_dead), c.socket_cookie);
}

std::string TextOf(const Report& report) {
  std::string out = Text(report.status);
  for (const ProxyReport& p : report.proxies) {
    out += fmt::format(
        "proxy {} {} [{}] belief {} {} clusters {} endpoints {} stale {} attempts {} phantoms {} "
        "poll {} lost {} {}\n",
        p.proxy.id.value(), p.proxy.name, Text(p.proxy.pod), Text(p.last_belief), p.belief_error,
        p.clusters, p.endpoints, p.stale_endpoints, p.attempts, p.phantoms,
        Text(p.admin_poll_duration), p.attempts_lost, p.lower_bounds);
  }
  for (const RolloutReport& rollout : report.rollouts) out += Text(rollout);
  for (const auto& chunk : report.connections) {
    for (const auto& connection : *chunk) out += TextOf(*connection) + "\n";
  }
  const std::map<PodUid, std::string> rollout_of(report.rollout_of.begin(),
                                                 report.rollout_of.end());
  for (const auto& [uid, name] : rollout_of) out += fmt::format("of {} {}\n", uid.value(), name);
  for (const StaleEndpointReport& s : report.stale_endpoints) {
    out += fmt::format("stale {} {} {} {} {} {} {} since {}\n", s.proxy_id.value(), s.proxy_name,
                       s.cluster, s.address.ToString(), NameOf(s.destination), NameOf(s.cause),
                       Text(s.holder), Text(s.believed_since));
  }
  return out + Text(report.metrics);
}

std::string TextOf(const AddressExplanation& e) {
  std::string out = fmt::format("{} at {}: {} cert {} reason {}\n", e.address.ToString(),
                                Text(e.time), NameOf(e.destination), static_cast<int>(e.certainty),
                                static_cast<int>(e.unknown_reason));
  for (const Holder& holder : e.holders) out += Text(holder) + "\n";
  for (const auto& line : e.beliefs) {
    out +=
        fmt::format("belief {} {} {} {} {} {}..{} gone {} {}\n", line.proxy_id.value(),
                    line.proxy_name, line.cluster, line.address.ToString(), line.believes,
                    Text(line.first_seen), Text(line.last_seen), Text(line.gone_by), line.health);
  }
  for (const auto& connection : e.recent) out += TextOf(*connection) + "\n";
  return out;
}

}  // namespace phantomd::testing
