#include "tests/world/truth.h"

#include <algorithm>

#include "fmt/format.h"

namespace phantomd::world {
namespace {

const Workload* MeantBy(const SimulatedProxy::ClusterState& cluster) {
  return cluster.service == nullptr || !cluster.names_service ? nullptr : cluster.service->selects;
}

}  // namespace

void WindowBook::Acquired(const Pod& pod, BootTime at) {
  for (auto& [key, window] : open_) {
    if (key.first == &pod || key.first->ip != pod.ip || window.clusters.empty()) continue;
    std::erase_if(window.clusters,
                  [&](const auto& cluster) { return cluster.second == pod.workload; });
    if (window.clusters.empty()) window.closed = at;
  }
}

void WindowBook::Withdrawn(const Pod& pod, BootTime at,
                           const std::vector<const SimulatedProxy*>& proxies) {
  for (const SimulatedProxy* proxy : proxies) {
    for (const SimulatedProxy::ClusterState& cluster : proxy->clusters()) {
      for (const auto& [address, host] : cluster.hosts) {
        if (host.pod != &pod) continue;
        OfPod& window = open_[{&pod, proxy}];
        if (!window.opened.is_set()) window.opened = at;
        window.closed = BootTime();
        window.clusters[cluster.name] = MeantBy(cluster);
        // Clients name these again and again, or nobody ever takes them out.
        if (cluster.discovery == Discovery::kOriginalDst ||
            cluster.discovery == Discovery::kStatic) {
          window.clear = false;
        }
      }
    }
  }
}

void WindowBook::HostChanged(const SimulatedProxy& proxy,
                             const SimulatedProxy::ClusterState& cluster, const SocketAddr&,
                             const Pod* before, const Pod* after, BootTime at) {
  if (const auto it = open_.find({before, &proxy}); it != open_.end()) {
    OfPod& window = it->second;
    if (window.clusters.erase(cluster.name) > 0 && window.clusters.empty()) window.closed = at;
  }
  // A push that had been under way brings it late, or again; or a client named it.
  if (after == nullptr || (!after->withdrawn && !after->died.is_set())) return;
  OfPod& window = open_[{after, &proxy}];
  if (!window.opened.is_set()) {
    window.opened = after->withdrawn ? after->withdrawn_at : after->died;
  }
  window.closed = BootTime();
  window.clusters[cluster.name] = MeantBy(cluster);
  if (cluster.discovery == Discovery::kOriginalDst) window.clear = false;
}

std::map<std::pair<std::string, std::string>, TrueWindow> WindowBook::Windows(
    const std::function<bool(const Pod&)>& counts) const {
  std::map<std::pair<std::string, std::string>, TrueWindow> out;
  for (const auto& [key, pod] : open_) {
    const Change* change = key.first->departs_with;
    if (change == nullptr || !counts(*key.first)) continue;
    const auto [it, first] = out.try_emplace({change->name, key.second->id()});
    TrueWindow& window = it->second;
    window.pods += fmt::format(" {} {} until {:.3f}", key.first->ref.uid.value(),
                               key.first->ip.ToString(), SecondsOf(pod.closed - BootTime()));
    if (first) {
      window.opened = pod.opened;
      window.closed = pod.closed;
      window.clear = pod.clear;
      continue;
    }
    window.opened = std::min(window.opened, pod.opened);
    window.clear = window.clear && pod.clear;
    const bool open = !window.closed.is_set() || !pod.closed.is_set();
    window.closed = open ? BootTime() : std::max(window.closed, pod.closed);
  }
  return out;
}

}  // namespace phantomd::world
