#include <fmt/format.h>

#include "agent/cmd/ctl/human.h"
#include "agent/cmd/ctl/show.h"
#include "agent/cmd/ctl/text_table.h"
#include "agent/cmd/ctl/wrap.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using Column = TextTable::Column;

// "Feeds         pods    synced": the label stands before the first of its lines. What is too long
// for one goes on two columns further in.
void AppendLines(const std::string& label, const std::string& lines, std::string* out) {
  std::string head = label;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = lines.find('\n', at);
    *out += Wrapped(fmt::format("{:<13} {}", head, lines.substr(at, end - at)), 16);
    head.clear();
    if (end == std::string::npos) break;
    at = end + 1;
  }
}

std::string TimeOrNone(bool has, const google::protobuf::Timestamp& time) {
  return has ? HumanTimeWithZone(time) : kNone;
}

std::string FeedLines(const pb::Status& status) {
  std::string out;
  for (const pb::FeedStatus& feed : status.feeds()) {
    out += fmt::format("{:<7} {}", feed.feed(), feed.synced() ? "synced" : "not synced");
    if (!feed.error().empty()) out += ": " + feed.error();
    if (feed.has_last_change()) out += ", last change " + HumanTime(feed.last_change());
    if (!feed.synced() && feed.has_good_until()) {
      out += ", good until " + HumanTime(feed.good_until());
    }
    if (feed.relists() > 0) out += ", " + Plural(feed.relists(), "relist");
    out += '\n';
  }
  return out.empty() ? "none" : out;
}

// When: what was counted of that time is too small.
std::string LossLines(const pb::Status& status) {
  std::string out;
  for (const pb::LossPeriod& loss : status.losses()) {
    out += fmt::format("{} {} between {} and {}",
                       loss.count_unknown() ? "an unknown number of" : std::to_string(loss.count()),
                       loss.what(), HumanTime(loss.from()), HumanTime(loss.to()));
    if (!loss.proxy_id().empty()) out += " of proxy " + loss.proxy_id();
    out += '\n';
  }
  return out;
}

std::string LimitationLines(const pb::Status& status) {
  std::string out;
  for (const std::string& sentence : status.limitations()) out += sentence + "\n";
  return out.empty() ? "none" : out;
}

std::string RoleName(pb::Proxy::Role role) {
  return role == pb::Proxy::ROLE_UNSPECIFIED ? kNone : pb::Proxy::Role_Name(role);
}

}  // namespace

std::string Show(const pb::Status& status, Detail) {
  std::string out;
  const auto line = [&](const char* label, const std::string& text) {
    AppendLines(label, text, &out);
  };
  line("Node",
       fmt::format("{}, phantomd {}", status.node_name().empty() ? kNone : status.node_name(),
                   status.agent_version().empty() ? kNone : status.agent_version()));
  line("Started", TimeOrNone(status.has_started(), status.started()));
  line("Judged until", TimeOrNone(status.has_judged_until(), status.judged_until()));
  line("Knows since", TimeOrNone(status.has_horizon(), status.horizon()));
  line("Attempts",
       fmt::format("{} judged: {}", status.attempts(), HumanCounts(status.attempts_by_class())));
  line("", fmt::format("{} waiting for news, {} not judged (health checks and control connects of "
                       "proxies, redirected downstream halves)",
                       status.held(), status.not_judged()));
  line("Lost", HumanCounts(status.lost()) + "\n" + LossLines(status));
  line("Late news", HumanCounts(status.late()));
  line("Proxies",
       fmt::format("{}, {} without belief", status.proxies(), status.proxies_without_belief()));
  line("Pods", fmt::format("{} indexed, {}", status.pods_indexed(),
                           Plural(status.tombstones(), "tombstone")));
  line("Ring", Plural(status.connections_dropped(), "old connection") + " dropped");
  line("Feeds", FeedLines(status));
  line("Limitations", LimitationLines(status));
  return out;
}

std::string Show(const pb::ListProxiesResponse& proxies, Detail detail) {
  if (proxies.proxies().empty()) return "No proxies.\n";
  std::vector<Column> columns = {{"PROXY", Column::kLeft, 0, kShortestName},
                                 {"ROLE"},
                                 {"ENDPOINTS", Column::kRight},
                                 {"STALE", Column::kRight},
                                 {"ATTEMPTS", Column::kRight},
                                 {"PHANTOMS", Column::kRight},
                                 {"POLL", Column::kRight},
                                 {"LAST BELIEF"}};
  if (detail == Detail::kWide) {
    columns.insert(
        columns.end(),
        {{"CLUSTERS", Column::kRight}, {"ENVOY"}, {"ADMIN"}, {"PIDS"}, {"ID"}, {"ENVOY NODE"}});
  }
  TextTable table(columns);
  std::string errors;
  for (const pb::ProxyStatus& p : proxies.proxies()) {
    std::string belief = p.has_last_belief() ? HumanTime(p.last_belief()) : "none";
    if (!p.belief_error().empty()) {
      if (detail == Detail::kWide) belief += ": " + p.belief_error();
      errors += Wrapped(p.proxy().name() + ": " + p.belief_error(), 2);
    }
    std::vector<std::string> row = {
        p.proxy().name(),
        RoleName(p.proxy().role()),
        std::to_string(p.endpoints()),
        std::to_string(p.stale_endpoints()),
        HumanCount(p.attempts(), p.lower_bounds()),
        HumanCount(p.phantoms(), p.lower_bounds()),
        p.has_admin_poll_duration() ? HumanDuration(p.admin_poll_duration()) : kNone,
        belief};
    if (detail == Detail::kWide) {
      const auto or_none = [](const std::string& s) { return s.empty() ? kNone : s; };
      std::string pids;
      for (const uint32_t pid : p.proxy().process_ids()) {
        pids += (pids.empty() ? "" : ",") + std::to_string(pid);
      }
      row.insert(row.end(), {std::to_string(p.clusters()), or_none(p.proxy().envoy_version()),
                             or_none(p.proxy().admin_address()), or_none(pids), p.proxy().id(),
                             or_none(p.proxy().envoy_node_id())});
    }
    table.Add(std::move(row));
  }
  if (detail == Detail::kWide) return table.Text();
  return table.Text(0, kScreen) + errors;
}

std::string Show(const pb::Report& report, Detail detail) {
  pb::ListProxiesResponse proxies;
  *proxies.mutable_proxies() = report.proxies();
  pb::ListConnectionsResponse connections;
  *connections.mutable_connections() = report.connections();
  pb::ListStaleEndpointsResponse stale;
  *stale.mutable_endpoints() = report.stale_endpoints();
  std::string out = Show(report.status(), detail) + "\n" + Show(proxies, detail) + "\n";
  for (const pb::Rollout& rollout : report.rollouts()) out += Show(rollout, detail) + "\n";
  return out + Show(stale, detail) + "\n" + Show(connections, detail);
}

}  // namespace phantomd
