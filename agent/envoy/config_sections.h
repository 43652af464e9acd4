// The sections of a config dump, one reader each; see config_dump.h. Private to agent/envoy.
#pragma once

#include <string>
#include <vector>

#include "agent/envoy/cluster_layers.h"
#include "agent/envoy/config_dump.h"
#include "agent/envoy/json_walk.h"

namespace phantomd {

// One element of static_clusters or dynamic_active_clusters.
bool ReadClusterConfig(JsonWalk& walk, JsonWalk::Value value, bool from_bootstrap, ConfigDump& dump,
                       ClusterLayers& layers);
// One element of static_endpoint_configs or dynamic_endpoint_configs.
bool ReadAssignment(JsonWalk& walk, JsonWalk::Value value, ConfigDump& dump);
// One element of static_listeners or dynamic_listeners. Draining listeners still carry connections
// and count; warming ones carry none yet.
bool ReadListener(JsonWalk& walk, JsonWalk::Value value, ClusterLayers& layers);
// One element of static_route_configs or dynamic_route_configs.
bool ReadRouteConfigEntry(JsonWalk& walk, JsonWalk::Value value, ClusterLayers& layers);

// A RouteConfiguration: its name, and the clusters its routes lead to.
bool ReadRouteConfig(JsonWalk& walk, JsonWalk::Value value, std::string& name,
                     ClusterTargets& targets);
// weighted_clusters of a route or a TCP proxy.
bool ReadWeightedClusters(JsonWalk& walk, JsonWalk::Value value, ClusterTargets& targets);

}  // namespace phantomd
