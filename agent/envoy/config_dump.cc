#include "agent/envoy/config_dump.h"

#include "agent/envoy/config_sections.h"

namespace phantomd {
namespace {

// One element of `configs`. Bootstrap, secrets and scopes are none of our business.
bool ReadSection(JsonWalk& walk, JsonWalk::Value section, ConfigDump& dump, ClusterLayers& layers) {
  return walk.Fields(section, "configs", [&](JsonKey key, JsonWalk::Value value) {
    const bool static_clusters = Named(key, "static_clusters");
    if (static_clusters || Named(key, "dynamic_active_clusters")) {
      return walk.Elements(value, "clusters", [&](JsonWalk::Value cluster) {
        return ReadClusterConfig(walk, cluster, static_clusters, dump, layers);
      });
    }
    if (Named(key, "static_endpoint_configs") || Named(key, "dynamic_endpoint_configs")) {
      return walk.Elements(value, "endpoint_configs", [&](JsonWalk::Value assignment) {
        return ReadAssignment(walk, assignment, dump);
      });
    }
    if (Named(key, "static_listeners") || Named(key, "dynamic_listeners")) {
      return walk.Elements(value, "listeners", [&](JsonWalk::Value listener) {
        return ReadListener(walk, listener, layers);
      });
    }
    if (Named(key, "static_route_configs") || Named(key, "dynamic_route_configs")) {
      return walk.Elements(value, "route_configs", [&](JsonWalk::Value routes) {
        return ReadRouteConfigEntry(walk, routes, layers);
      });
    }
    return true;
  });
}

}  // namespace

absl::StatusOr<ConfigDump> DecodeConfigDump(std::string_view bytes) {
  ConfigDump dump;
  ClusterLayers layers;
  bool has_configs = false;
  auto status = JsonWalk::ReadDocument(
      "/config_dump", bytes, [&](JsonWalk& walk, JsonKey key, JsonWalk::Value value) {
        if (!Named(key, "configs")) return true;
        has_configs = true;
        return walk.Elements(value, "configs", [&](JsonWalk::Value section) {
          return ReadSection(walk, section, dump, layers);
        });
      });
  if (!status.ok()) return status;
  if (!has_configs) {
    return absl::InvalidArgumentError("/config_dump: no configs in it, so not Envoy's answer");
  }
  layers.Resolve();
  for (ClusterConfig& cluster : dump.clusters) cluster.layer = layers.Of(cluster.name);
  return dump;
}

}  // namespace phantomd
