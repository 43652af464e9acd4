#include "agent/envoy/cluster_layers.h"

#include <utility>

#include "agent/base/strings.h"

namespace phantomd {

void ClusterLayers::AddRouteConfig(std::string name, ClusterTargets targets) {
  // Two route configurations may share a name (static and dynamic): either may be the one in use.
  ClusterTargets& known = route_configs_[std::move(name)];
  known.any |= targets.any;
  for (std::string& cluster : targets.clusters) known.clusters.push_back(std::move(cluster));
}

void ClusterLayers::AddAggregate(std::string cluster, std::vector<std::string> members) {
  aggregates_.emplace_back(std::move(cluster), std::move(members));
}

void ClusterLayers::AddRouteTargets(const ClusterTargets& targets) {
  http_any_ |= targets.any;
  http_.insert(targets.clusters.begin(), targets.clusters.end());
}

void ClusterLayers::Resolve() {
  for (const auto& [name, targets] : route_configs_) {
    if (uses_every_route_config_ || used_route_configs_.contains(name)) AddRouteTargets(targets);
  }
  // An aggregate may contain an aggregate: each round carries the layers one level down.
  for (size_t round = 0; round < aggregates_.size(); ++round) {
    bool changed = false;
    for (const auto& [cluster, members] : aggregates_) {
      for (const std::string& member : members) {
        if (tcp_.contains(cluster)) changed |= tcp_.insert(member).second;
        if (http_.contains(cluster)) changed |= http_.insert(member).second;
      }
    }
    if (!changed) break;
  }
}

bool ClusterLayers::IsTcp(std::string_view cluster) const {
  return tcp_.contains(ToAbsl(cluster)) ||
         (tcp_by_sni_ && cluster.find('|') == std::string_view::npos);
}

bool ClusterLayers::IsHttp(std::string_view cluster) const {
  return http_any_ || http_.contains(ToAbsl(cluster));
}

Layer ClusterLayers::Of(std::string_view cluster) const {
  const bool tcp = IsTcp(cluster);
  const bool http = IsHttp(cluster);
  if (tcp && http) return Layer::kMixed;
  if (tcp) return Layer::kL4;
  return http ? Layer::kL7 : Layer::kUnspecified;
}

}  // namespace phantomd
