#include "tests/world/truth.h"

#include <algorithm>

namespace phantomd::world {

void WindowBook::Withdrawn(const Pod& pod, BootTime at,
                           const std::vector<const SimulatedProxy*>& proxies) {
  for (const SimulatedProxy* proxy : proxies) {
    for (const SimulatedProxy::ClusterState& cluster : proxy->clusters()) {
      for (const auto& [address, host] : cluster.hosts) {
        if (host.pod != &pod) continue;
        OfPod& window = open_[{&pod, proxy}];
        if (!window.opened.is_set()) window.opened = at;
        window.closed = BootTime();
        window.clusters.insert(cluster.name);
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
  // A push that had been under way brought it back, or a client named it.
  if (const auto it = open_.find({after, &proxy}); it != open_.end() && after->withdrawn) {
    it->second.clusters.insert(cluster.name);
    it->second.closed = BootTime();
    if (cluster.discovery == Discovery::kOriginalDst) it->second.clear = false;
  }
}

std::map<std::pair<std::string, std::string>, TrueWindow> WindowBook::Windows() const {
  std::map<std::pair<std::string, std::string>, TrueWindow> out;
  for (const auto& [key, pod] : open_) {
    const Change* change = key.first->departs_with;
    if (change == nullptr) continue;
    const auto [it, first] = out.try_emplace({change->name, key.second->id()});
    TrueWindow& window = it->second;
    if (first) {
      window = {pod.opened, pod.closed, pod.clear};
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
