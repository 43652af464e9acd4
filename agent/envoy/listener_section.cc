// The LDS and RDS parts of a config dump: which clusters filter chains and routes lead to.
#include <string_view>
#include <utility>

#include "agent/envoy/config_sections.h"

namespace phantomd {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// A network filter's typed_config. Fields are collected first and judged by the type afterwards:
// nothing says that "@type" comes first.
struct FilterConfig {
  std::string_view type;
  ClusterTargets tcp;
  ClusterTargets inline_routes;
  std::string route_config_name;
  bool scoped_routes = false;
};

bool ReadRds(JsonWalk& walk, JsonWalk::Value value, FilterConfig& config) {
  return walk.Fields(value, "rds", [&](JsonKey key, JsonWalk::Value inner) {
    return !Named(key, "route_config_name") ||
           walk.Text(inner, "route_config_name", config.route_config_name);
  });
}

bool IsObject(JsonWalk::Value value) {
  simdjson::ondemand::json_type type;
  return !value.type().get(type) && type == simdjson::ondemand::json_type::object;
}

bool IsString(JsonWalk::Value value) {
  simdjson::ondemand::json_type type;
  return !value.type().get(type) && type == simdjson::ondemand::json_type::string;
}

// Other filters have fields of the same names and other shapes: what does not look like ours is
// none of ours.
bool ReadFilterConfig(JsonWalk& walk, JsonWalk::Value value, FilterConfig& config) {
  return walk.Fields(value, "typed_config", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "@type")) return walk.Text(inner, "@type", config.type);
    if (Named(key, "cluster") && IsString(inner)) {
      return walk.Text(inner, "tcp_proxy.cluster", config.tcp.clusters.emplace_back());
    }
    if (Named(key, "weighted_clusters") && IsObject(inner)) {
      return ReadWeightedClusters(walk, inner, config.tcp);
    }
    if (Named(key, "rds") && IsObject(inner)) return ReadRds(walk, inner, config);
    if (Named(key, "scoped_routes")) config.scoped_routes = true;
    if (Named(key, "route_config") && IsObject(inner)) {
      std::string name;
      return ReadRouteConfig(walk, inner, name, config.inline_routes);
    }
    return true;
  });
}

void UseFilter(const FilterConfig& config, ClusterLayers& layers) {
  if (EndsWith(config.type, ".TcpProxy")) {
    for (const std::string& cluster : config.tcp.clusters) layers.AddTcpTarget(cluster);
  } else if (EndsWith(config.type, ".SniCluster")) {
    layers.AddSniTargets();
  } else if (EndsWith(config.type, ".HttpConnectionManager")) {
    layers.AddInlineRoutes(config.inline_routes);
    if (!config.route_config_name.empty()) layers.UseRouteConfig(config.route_config_name);
    if (config.scoped_routes) layers.UseEveryRouteConfig();
  }
}

bool ReadFilterChain(JsonWalk& walk, JsonWalk::Value value, ClusterLayers& layers) {
  return walk.Fields(value, "filter_chains", [&](JsonKey key, JsonWalk::Value filters) {
    if (!Named(key, "filters")) return true;
    return walk.Elements(filters, "filters", [&](JsonWalk::Value filter) {
      FilterConfig config;
      const bool read = walk.Fields(filter, "filters", [&](JsonKey name, JsonWalk::Value inner) {
        return !Named(name, "typed_config") || ReadFilterConfig(walk, inner, config);
      });
      if (read) UseFilter(config, layers);
      return read;
    });
  });
}

bool ReadListenerConfig(JsonWalk& walk, JsonWalk::Value value, ClusterLayers& layers) {
  return walk.Fields(value, "listener", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "filter_chains")) {
      return walk.Elements(inner, "filter_chains", [&](JsonWalk::Value chain) {
        return ReadFilterChain(walk, chain, layers);
      });
    }
    if (Named(key, "default_filter_chain")) return ReadFilterChain(walk, inner, layers);
    if (!Named(key, "api_listener")) return true;
    FilterConfig config;
    const bool read = walk.Fields(inner, "api_listener", [&](JsonKey name, JsonWalk::Value api) {
      return !Named(name, "api_listener") || ReadFilterConfig(walk, api, config);
    });
    if (read) UseFilter(config, layers);
    return read;
  });
}

bool ReadClusterName(JsonWalk& walk, JsonWalk::Value value, ClusterTargets& targets) {
  return walk.Text(value, "route.cluster", targets.clusters.emplace_back());
}

bool ReadMirrorPolicies(JsonWalk& walk, JsonWalk::Value value, ClusterTargets& targets) {
  return walk.Elements(value, "request_mirror_policies", [&](JsonWalk::Value policy) {
    return walk.Fields(policy, "request_mirror_policies", [&](JsonKey key, JsonWalk::Value inner) {
      if (Named(key, "cluster")) return ReadClusterName(walk, inner, targets);
      if (Named(key, "cluster_header")) targets.any = true;
      return true;
    });
  });
}

// Route.route, a RouteAction.
bool ReadRouteAction(JsonWalk& walk, JsonWalk::Value value, ClusterTargets& targets) {
  return walk.Fields(value, "route", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "cluster")) return ReadClusterName(walk, inner, targets);
    if (Named(key, "weighted_clusters")) return ReadWeightedClusters(walk, inner, targets);
    if (Named(key, "request_mirror_policies")) return ReadMirrorPolicies(walk, inner, targets);
    if (Named(key, "cluster_header") || Named(key, "cluster_specifier_plugin") ||
        Named(key, "inline_cluster_specifier_plugin")) {
      targets.any = true;
    }
    return true;
  });
}

bool ReadVirtualHost(JsonWalk& walk, JsonWalk::Value value, ClusterTargets& targets) {
  return walk.Fields(value, "virtual_hosts", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "request_mirror_policies")) return ReadMirrorPolicies(walk, inner, targets);
    // A matcher tree holds routes at any depth; rather than follow it, say that any may be chosen.
    if (Named(key, "matcher")) targets.any = true;
    if (!Named(key, "routes")) return true;
    return walk.Elements(inner, "routes", [&](JsonWalk::Value route) {
      return walk.Fields(route, "routes", [&](JsonKey name, JsonWalk::Value action) {
        return !Named(name, "route") || ReadRouteAction(walk, action, targets);
      });
    });
  });
}

}  // namespace

bool ReadWeightedClusters(JsonWalk& walk, JsonWalk::Value value, ClusterTargets& targets) {
  return walk.Fields(value, "weighted_clusters", [&](JsonKey key, JsonWalk::Value list) {
    if (!Named(key, "clusters")) return true;
    return walk.Elements(list, "weighted_clusters.clusters", [&](JsonWalk::Value cluster) {
      return walk.Fields(cluster, "weighted_clusters.clusters",
                         [&](JsonKey name, JsonWalk::Value inner) {
                           if (Named(name, "cluster_header")) targets.any = true;
                           return !Named(name, "name") || ReadClusterName(walk, inner, targets);
                         });
    });
  });
}

bool ReadRouteConfig(JsonWalk& walk, JsonWalk::Value value, std::string& name,
                     ClusterTargets& targets) {
  return walk.Fields(value, "route_config", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "name")) return walk.Text(inner, "route_config.name", name);
    if (Named(key, "request_mirror_policies")) return ReadMirrorPolicies(walk, inner, targets);
    // Virtual hosts that on-demand discovery (VHDS) adds are listed here as well.
    if (!Named(key, "virtual_hosts")) return true;
    return walk.Elements(inner, "virtual_hosts", [&](JsonWalk::Value host) {
      return ReadVirtualHost(walk, host, targets);
    });
  });
}

bool ReadRouteConfigEntry(JsonWalk& walk, JsonWalk::Value value, ClusterLayers& layers) {
  std::string name;
  ClusterTargets targets;
  const bool read = walk.Fields(value, "route_configs", [&](JsonKey key, JsonWalk::Value inner) {
    return !Named(key, "route_config") || ReadRouteConfig(walk, inner, name, targets);
  });
  if (read && !name.empty()) layers.AddRouteConfig(std::move(name), std::move(targets));
  return read;
}

bool ReadListener(JsonWalk& walk, JsonWalk::Value value, ClusterLayers& layers) {
  return walk.Fields(value, "listeners", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "listener")) return ReadListenerConfig(walk, inner, layers);
    if (!Named(key, "active_state") && !Named(key, "draining_state")) return true;
    return walk.Fields(inner, "listener state", [&](JsonKey name, JsonWalk::Value config) {
      return !Named(name, "listener") || ReadListenerConfig(walk, config, layers);
    });
  });
}

}  // namespace phantomd
