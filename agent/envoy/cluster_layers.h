// ClusterLayers tells which kind of filter chain uses a cluster, from a dump's listeners and
// routes.
//
// A TCP proxy names its clusters itself (L4); an HTTP connection manager names routes, inline or by
// RDS, and these name clusters (L7). Istio's protocol sniffing builds both on one port, so a
// cluster may be used by both (MIXED). Routes count only if a listener uses them. Two things choose
// a cluster while a connection or request is there, and no name in the configuration tells which:
// - `cluster_header` and cluster specifier plugins may choose any cluster: it is L7, or MIXED where
//   a TCP proxy names it too.
// - the `sni_cluster` filter sets the TCP proxy's cluster to the SNI, a host name: any cluster
//   whose name could be one is L4, or MIXED where a route names it too.
//
// Example: TcpProxy("a"); routes {"r": a, b}; a listener uses "r" -> a MIXED, b L7, c unspecified.
//
// Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "agent/belief/snapshot.h"

namespace phantomd {

// What one route configuration, or all TCP proxies, lead to.
struct ClusterTargets {
  std::vector<std::string> clusters;
  bool any = false;  // chosen at run time, see above
};

class ClusterLayers {
 public:
  void AddTcpTarget(std::string_view cluster) { tcp_.insert(std::string(cluster)); }
  void AddSniTargets() { tcp_by_sni_ = true; }
  // Routes written into the HTTP connection manager itself.
  void AddInlineRoutes(const ClusterTargets& targets) { AddRouteTargets(targets); }
  void AddRouteConfig(std::string name, ClusterTargets targets);
  // An HTTP connection manager takes its routes from this configuration.
  void UseRouteConfig(std::string_view name) { used_route_configs_.insert(std::string(name)); }
  // An HTTP connection manager chooses among all configurations by scope.
  void UseEveryRouteConfig() { uses_every_route_config_ = true; }
  // Connections to an aggregate cluster go to its members.
  void AddAggregate(std::string cluster, std::vector<std::string> members);

  // No Add or Use after this; Of() before it knows nothing.
  void Resolve();
  Layer Of(std::string_view cluster) const;

 private:
  void AddRouteTargets(const ClusterTargets& targets);
  bool IsTcp(std::string_view cluster) const;
  bool IsHttp(std::string_view cluster) const;

  absl::flat_hash_set<std::string> tcp_;
  absl::flat_hash_set<std::string> http_;
  bool tcp_by_sni_ = false;
  bool http_any_ = false;
  absl::flat_hash_map<std::string, ClusterTargets> route_configs_;
  absl::flat_hash_set<std::string> used_route_configs_;
  bool uses_every_route_config_ = false;
  std::vector<std::pair<std::string, std::vector<std::string>>> aggregates_;
};

}  // namespace phantomd
