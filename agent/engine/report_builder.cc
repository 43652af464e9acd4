#include "agent/engine/report_builder.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "agent/verdict/names.h"

namespace phantomd {
namespace {

// An attempt is lost at its outcome, which may come as late after its SYN as the kernel's own
// limit.
constexpr Nanos kOutcomesAfter = std::chrono::seconds(130);

template <typename Key>
Counts NamedCounts(const std::map<Key, uint64_t>& counts) {
  Counts out;
  for (const auto& [key, count] : counts) out.emplace_back(std::string(NameOf(key)), count);
  std::sort(out.begin(), out.end());
  return out;
}

// All that ended before this instant has its verdict: up to the watermark, but for what still
// waits.
BootTime JudgedUntil(const Knowledge& known) {
  return std::min(known.judge.WatermarkAt(known.now), known.held.EarliestEnd());
}

StatusReport Status(const Knowledge& known) {
  StatusReport status;
  status.node_name = known.header.node_name;
  status.agent_version = known.header.agent_version;
  status.started = known.started;
  status.judged_until = JudgedUntil(known);
  status.horizon = known.lifecycle.horizon();
  status.attempts = known.ledger.attempts();
  status.attempts_by_class = NamedCounts(known.ledger.by_class());
  status.lost = {known.lost.begin(), known.lost.end()};
  status.losses = known.losses.Latest(StatusReport::kLosses);
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    const Lifecycle::FeedFacts facts = known.lifecycle.feed(feed);
    status.feeds.push_back({.feed = feed,
                            .synced = facts.synced,
                            .last_change = known.feeds.at(feed).last_change,
                            .relists = known.feeds.at(feed).relists,
                            .good_until = facts.good_until});
  }
  for (const auto& [id, entry] : known.proxies.all()) {
    if (entry.gone.is_set()) continue;
    ++status.proxies;
    if (!known.belief.Facts(id).known) ++status.proxies_without_belief;
  }
  status.pods_indexed = known.lifecycle.pods();
  status.tombstones = known.lifecycle.tombstones();
  status.held = known.held.size();
  status.late = {known.late.begin(), known.late.end()};
  status.connections_dropped = known.ledger.dropped();
  for (const auto& [initiator, count] : known.ledger.not_judged()) status.not_judged += count;
  status.not_judged_by_initiator = NamedCounts(known.ledger.not_judged());
  return status;
}

std::string NameOfProxy(const Knowledge& known, const ProxyId& id) {
  const ProxyTable::Entry* entry = known.proxies.Find(id);
  return entry != nullptr ? entry->named.name : std::string();
}

// The pod whose departure makes the endpoint stale.
Holder StaleHolder(const Knowledge& known, const IpAddr& ip, const Verdict& verdict) {
  for (const TenancyFacts& tenancy : known.lifecycle.Tenancies(ip)) {
    if (tenancy.pod != verdict.last_holder) continue;
    return HolderOf(tenancy, known.lifecycle.WithdrawnBounds(tenancy.pod),
                    known.lifecycle.DepartureOf(tenancy.pod, known.now));
  }
  return {};
}

std::vector<StaleEndpointReport> StaleEndpoints(const Knowledge& known) {
  std::vector<StaleEndpointReport> out;
  for (const auto& [ip, proxies] : known.planner.watched()) {
    for (const Believer& believer : known.belief.BelieversOf(ip)) {
      if (!proxies.contains(believer.proxy)) continue;
      const Verdict verdict = known.judge.Suppose(believer.proxy, believer.address, known.now);
      if (!TellsOfDeparture(verdict.destination)) continue;
      out.push_back({.proxy_id = believer.proxy,
                     .proxy_name = NameOfProxy(known, believer.proxy),
                     .cluster = std::string(believer.belief.cluster),
                     .address = believer.address,
                     .destination = verdict.destination,
                     .cause = verdict.cause,
                     .holder = StaleHolder(known, ip, verdict),
                     .believed_since = believer.belief.first_seen});
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::tie(a.proxy_name, a.proxy_id, a.cluster, a.address) <
           std::tie(b.proxy_name, b.proxy_id, b.cluster, b.address);
  });
  return out;
}

std::vector<ProxyReport> Proxies(const Knowledge& known,
                                 const std::vector<StaleEndpointReport>& stale) {
  std::map<ProxyId, uint32_t> stale_of;
  for (const StaleEndpointReport& endpoint : stale) ++stale_of[endpoint.proxy_id];
  std::vector<ProxyReport> out;
  for (const auto& [id, entry] : known.proxies.all()) {
    const Belief::ProxyFacts belief = known.belief.Facts(id);
    const ProxyFigures figures = known.ledger.FiguresOf(id);
    ProxyReport& report = out.emplace_back();
    report.proxy = entry.named;
    report.last_belief = belief.last_good;
    report.belief_error = belief.error;
    report.clusters = belief.clusters;
    report.endpoints = belief.endpoints;
    report.stale_endpoints = stale_of[id];
    report.attempts = figures.attempts;
    for (const auto& [destination, count] : figures.by_class) {
      if (IsPhantom(destination)) report.phantoms += count;
    }
    const BootTime until = entry.gone.is_set() ? entry.gone + kOutcomesAfter : known.now;
    const auto lost = known.losses.AttemptsOf(id, entry.first_observed, until);
    report.attempts_lost = lost.count;
    report.lower_bounds = lost.any();
    report.admin_poll_duration = belief.median_poll;
  }
  std::sort(out.begin(), out.end(), [](const ProxyReport& a, const ProxyReport& b) {
    return std::tie(a.proxy.name, a.proxy.id) < std::tie(b.proxy.name, b.proxy.id);
  });
  return out;
}

RolloutReport Rollout(const Knowledge& known, const WorkloadChange& change) {
  const ChangeFigures figures =
      known.ledger.FiguresOf(change, known.lifecycle, known.belief, known.now);
  RolloutReport out;
  out.name = change.name;
  out.workload = change.workload;
  out.from_revision = change.from_revision;
  out.to_revision = change.to_revision;
  out.departure = change.departure;
  out.started = change.started;
  out.finished = figures.finished;
  out.pods_departed = static_cast<uint32_t>(change.pods.size());
  out.attempts = figures.withdrawn + figures.dead + figures.reused + figures.other;
  out.withdrawn = figures.withdrawn;
  out.dead = figures.dead;
  out.reused = figures.reused;
  out.other = figures.other;
  const auto lost = known.losses.Attempts(
      change.started, figures.finished.is_set() ? figures.finished + kOutcomesAfter : known.now);
  out.attempts_lost = lost.count;
  out.lower_bounds = lost.any();
  out.by_cause = NamedCounts(figures.by_cause);
  out.by_outcome = NamedCounts(figures.by_outcome);
  out.by_layer = NamedCounts(figures.by_layer);
  for (const WindowFigures& window : figures.windows) {
    out.windows.push_back({.proxy_id = window.proxy,
                           .proxy_name = NameOfProxy(known, window.proxy),
                           .opened = window.opened,
                           .closed = window.closed,
                           .closed_error = window.closed_error,
                           .last_connection = window.last_connection,
                           .attempts = window.attempts,
                           .phantoms = window.phantoms});
  }
  out.window_p50 = figures.window_p50;
  out.window_max = figures.window_max;
  out.wait_p50 = figures.wait_p50;
  out.wait_max = figures.wait_max;
  out.wait_total = figures.wait_total;
  std::map<ConnectionEnd::How, uint64_t> stranded;
  for (const auto& [how, after] : figures.stranded) {
    stranded[how] = after.count();
    out.stranded += after.count();
    out.stranded_after.push_back(
        {std::string(NameOf(how)), after.count(), after.Quantile(0.5), after.max()});
  }
  out.stranded_by_end = NamedCounts(stranded);
  std::sort(out.stranded_after.begin(), out.stranded_after.end(),
            [](const auto& a, const auto& b) { return a.how < b.how; });
  return out;
}

std::vector<RolloutReport> Rollouts(const Knowledge& known) {
  std::vector<RolloutReport> out;
  for (const WorkloadChange* change : known.lifecycle.Changes(known.now)) {
    out.push_back(Rollout(known, *change));
  }
  std::stable_sort(out.begin(), out.end(), [](const RolloutReport& a, const RolloutReport& b) {
    return a.started != b.started ? a.started > b.started : a.name < b.name;
  });
  return out;
}

std::vector<MetricCells::Stale> StaleCells(const Knowledge& known,
                                           const std::vector<StaleEndpointReport>& stale) {
  std::map<std::pair<SourceLabels, DestinationClass>, uint64_t> counts;
  for (const StaleEndpointReport& endpoint : stale) {
    SourceLabels source;
    if (const ProxyTable::Entry* entry = known.proxies.Find(endpoint.proxy_id)) {
      const PodRef& pod = entry->named.pod;
      source = {.ns = pod.ns, .workload = pod.workload.name, .pod = pod.name};
    }
    ++counts[{source, endpoint.destination}];
  }
  std::vector<MetricCells::Stale> out;
  for (const auto& [key, count] : counts) out.push_back({key.first, key.second, count});
  return out;
}

}  // namespace

std::shared_ptr<const Report> BuildReport(const Knowledge& known) {
  auto report = std::make_shared<Report>();
  report->offset = known.offset;
  report->status = Status(known);
  report->stale_endpoints = StaleEndpoints(known);
  report->proxies = Proxies(known, report->stale_endpoints);
  report->rollouts = Rollouts(known);
  report->connections = known.ledger.Connections();
  for (const PodHandle pod : known.departed) {
    const PodRef* ref = known.lifecycle.Pod(pod);
    const WorkloadChange* change = known.lifecycle.ChangeOf(pod, known.now);
    if (ref != nullptr && change != nullptr) report->rollout_of[ref->uid] = change->name;
  }
  report->metrics = known.ledger.Cells();
  report->metrics.stale = StaleCells(known, report->stale_endpoints);
  return report;
}

}  // namespace phantomd
