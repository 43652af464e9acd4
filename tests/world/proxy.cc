#include "tests/world/proxy.h"

#include <algorithm>
#include <set>
#include <utility>

namespace phantomd::world {

SimulatedProxy::SimulatedProxy(std::string id, Agenda& agenda, Cluster& cluster, Random random,
                               HostSink sink)
    : id_(std::move(id)),
      agenda_(agenda),
      cluster_(cluster),
      random_(std::move(random)),
      sink_(std::move(sink)) {}

size_t SimulatedProxy::AddCluster(ClusterState cluster) {
  clusters_.push_back(std::move(cluster));
  return clusters_.size() - 1;
}

SimulatedProxy::Host* SimulatedProxy::FindHost(size_t cluster, const SocketAddr& address) {
  const auto it = clusters_[cluster].hosts.find(address);
  return it == clusters_[cluster].hosts.end() ? nullptr : &it->second;
}

void SimulatedProxy::Assign(size_t index, const Assignment& assignment) {
  ClusterState& cluster = clusters_[index];
  std::set<SocketAddr> listed;
  for (const Listed& item : assignment) {
    if (!listed.insert(item.address).second) continue;
    Host& host = cluster.hosts[item.address];
    const Pod* before = std::exchange(host.pod, item.pod);
    if (!host.since.is_set()) host.since = agenda_.now();
    host.assigned = true;
    if (before != item.pod) sink_(*this, cluster, item.address, before, item.pod);
  }
  std::vector<SocketAddr> gone;
  for (auto& [address, host] : cluster.hosts) {
    if (listed.contains(address)) continue;
    // A host that passes its health checks stays until it fails them.
    if (cluster.health_checked && !host.failed_check) {
      host.assigned = false;
    } else {
      gone.push_back(address);
    }
  }
  for (const SocketAddr& address : gone) Drop(index, address);
  if (keeps_update_time && cluster.discovery == Discovery::kEds) {
    const int64_t nanos = (agenda_.now() - BootTime()).count() + kWallBase.count();
    cluster.updated = WallTime::FromNanos(nanos - nanos % 1'000'000);
  }
}

void SimulatedProxy::Drop(size_t index, const SocketAddr& address) {
  ClusterState& cluster = clusters_[index];
  const auto it = cluster.hosts.find(address);
  const Pod* pod = it->second.pod;
  // Nothing was under way to a host that came and went in one burst of pushes.
  const bool was_used = agenda_.now() - it->second.since > Span(1);
  cluster.hosts.erase(it);
  if (was_used) dropped_.push_back({address, pod, index, agenda_.now()});
  sink_(*this, cluster, address, pod, nullptr);
}

void SimulatedProxy::Use(size_t index, const Listed& listed) {
  ClusterState& cluster = clusters_[index];
  Host& host = cluster.hosts[listed.address];
  const Pod* before = std::exchange(host.pod, listed.pod);
  if (before != listed.pod) sink_(*this, cluster, listed.address, before, listed.pod);
  host.last_used = agenda_.now();
}

void SimulatedProxy::Repeat(Nanos period, BootTime until, std::function<void()> action) {
  if (!alive || agenda_.now() + period > until) return;
  agenda_.In(period, [this, period, until, action = std::move(action)] {
    action();
    Repeat(period, until, action);
  });
}

void SimulatedProxy::RunTimers(BootTime until) {
  for (size_t i = 0; i < clusters_.size(); ++i) {
    if (clusters_[i].health_checked) {
      Repeat(Span(random_.Uniform(0.8, 2)), until, [this, i] { CheckHealth(i); });
    }
    if (clusters_[i].discovery == Discovery::kOriginalDst) {
      Repeat(Span(5), until, [this, i] { CleanUp(i); });
    }
  }
}

void SimulatedProxy::CheckHealth(size_t index) {
  constexpr int kUnhealthyThreshold = 2;
  std::vector<SocketAddr> gone;
  for (auto& [address, host] : clusters_[index].hosts) {
    const bool passes = cluster_.AnswerOf(address) == Answer::kAccepts;
    host.failed_checks = passes ? 0 : host.failed_checks + 1;
    if (passes) host.failed_check = false;
    if (host.failed_checks >= kUnhealthyThreshold) host.failed_check = true;
    if (host.failed_check && !host.assigned) gone.push_back(address);
  }
  for (const SocketAddr& address : gone) Drop(index, address);
}

void SimulatedProxy::CleanUp(size_t index) {
  std::vector<SocketAddr> gone;
  for (auto& [address, host] : clusters_[index].hosts) {
    if (agenda_.now() - host.last_used > Span(5)) gone.push_back(address);
  }
  for (const SocketAddr& address : gone) Drop(index, address);
}

std::vector<BeliefSnapshot::Cluster> SimulatedProxy::View() const {
  std::vector<BeliefSnapshot::Cluster> out;
  for (const ClusterState& cluster : clusters_) {
    BeliefSnapshot::Cluster& view = out.emplace_back();
    view.name = cluster.name;
    if (cluster.service != nullptr && cluster.names_service) {
      view.service = cluster.service->full_name();
    }
    view.discovery = cluster.discovery;
    view.layer = cluster.layer;
    view.updated = cluster.updated;
    for (const auto& [address, host] : cluster.hosts) {
      BeliefSnapshot::Endpoint& endpoint = view.endpoints.emplace_back();
      endpoint.address = address;
      endpoint.in_assignment = host.assigned;
      endpoint.in_host_set = true;
      endpoint.pending_removal = !host.assigned;
      endpoint.failed_active_health_check = host.failed_check;
      endpoint.connects = host.connects;
      endpoint.connect_failures = host.failures;
      if (cluster.discovery == Discovery::kEds && host.pod != nullptr) {
        endpoint.workload = host.pod->ref.ns + "/" + host.pod->ref.workload.name;
      }
    }
  }
  return out;
}

}  // namespace phantomd::world
