// The CDS part of a config dump: each cluster's discovery type, names and Service.
#include <utility>

#include "agent/envoy/config_sections.h"
#include "agent/envoy/service_name.h"

namespace phantomd {
namespace {

constexpr std::string_view kAggregate = "envoy.clusters.aggregate";

Discovery DiscoveryOf(std::string_view type) {
  if (type == "EDS") return Discovery::kEds;
  if (type == "STRICT_DNS") return Discovery::kStrictDns;
  if (type == "LOGICAL_DNS") return Discovery::kLogicalDns;
  if (type == "ORIGINAL_DST") return Discovery::kOriginalDst;
  if (type == "STATIC" || type.empty()) return Discovery::kStatic;
  return Discovery::kUnspecified;
}

// What newer releases and other control planes write as extensions of these names.
Discovery DiscoveryOfExtension(std::string_view name) {
  if (name == "envoy.cluster.eds" || name == "envoy.clusters.eds") return Discovery::kEds;
  if (name == "envoy.cluster.strict_dns" || name == "envoy.clusters.strict_dns") {
    return Discovery::kStrictDns;
  }
  if (name == "envoy.cluster.logical_dns" || name == "envoy.clusters.logical_dns") {
    return Discovery::kLogicalDns;
  }
  if (name == "envoy.cluster.original_dst" || name == "envoy.clusters.original_dst") {
    return Discovery::kOriginalDst;
  }
  if (name == "envoy.cluster.static" || name == "envoy.clusters.static") return Discovery::kStatic;
  return Discovery::kCustom;
}

// Everything in a cluster that may tell its Service, in the order in which it is believed: the
// cluster's name, Istio's metadata, the EDS service name, the DNS name it resolves.
struct ServiceHints {
  std::string metadata;
  std::string dns;
};

// metadata.filter_metadata.istio.services[]: {host, name, namespace}.
bool ReadIstioServices(JsonWalk& walk, JsonWalk::Value value, ServiceHints& hints) {
  return walk.Elements(value, "metadata services", [&](JsonWalk::Value service) {
    return walk.Fields(service, "metadata services", [&](JsonKey key, JsonWalk::Value inner) {
      if (!Named(key, "host")) return true;
      std::string_view host;
      if (!walk.Text(inner, "metadata services.host", host)) return false;
      if (hints.metadata.empty()) hints.metadata = ServiceOfHost(host);
      return true;
    });
  });
}

bool ReadClusterMetadata(JsonWalk& walk, JsonWalk::Value value, ServiceHints& hints) {
  return walk.Fields(value, "metadata", [&](JsonKey key, JsonWalk::Value filters) {
    if (!Named(key, "filter_metadata")) return true;
    return walk.Fields(filters, "filter_metadata", [&](JsonKey filter, JsonWalk::Value fields) {
      if (!Named(filter, "istio")) return true;
      return walk.Fields(
          fields, "filter_metadata.istio", [&](JsonKey name, JsonWalk::Value services) {
            return !Named(name, "services") || ReadIstioServices(walk, services, hints);
          });
    });
  });
}

bool ReadDnsName(JsonWalk& walk, JsonWalk::Value value, ServiceHints& hints) {
  return walk.Fields(value, "lb_endpoints", [&](JsonKey key, JsonWalk::Value endpoint) {
    if (!Named(key, "endpoint")) return true;
    return walk.Fields(endpoint, "endpoint", [&](JsonKey name, JsonWalk::Value address) {
      if (!Named(name, "address")) return true;
      return walk.Fields(address, "address", [&](JsonKey form, JsonWalk::Value socket) {
        if (!Named(form, "socket_address")) return true;
        return walk.Fields(socket, "socket_address", [&](JsonKey field, JsonWalk::Value host) {
          if (!Named(field, "address")) return true;
          std::string_view text;
          if (!walk.Text(host, "socket_address.address", text)) return false;
          if (hints.dns.empty()) hints.dns = ServiceOfHost(text);
          return true;
        });
      });
    });
  });
}

bool ReadLoadAssignment(JsonWalk& walk, JsonWalk::Value value, ServiceHints& hints) {
  return walk.Fields(value, "load_assignment", [&](JsonKey key, JsonWalk::Value inner) {
    if (!Named(key, "endpoints")) return true;
    return walk.Elements(inner, "endpoints", [&](JsonWalk::Value locality) {
      return walk.Fields(locality, "endpoints", [&](JsonKey part, JsonWalk::Value endpoints) {
        if (!Named(part, "lb_endpoints")) return true;
        return walk.Elements(endpoints, "lb_endpoints", [&](JsonWalk::Value endpoint) {
          return ReadDnsName(walk, endpoint, hints);
        });
      });
    });
  });
}

// `clusters` of an aggregate's typed_config.
bool ReadClusterType(JsonWalk& walk, JsonWalk::Value value, std::string& extension,
                     std::vector<std::string>& members) {
  return walk.Fields(value, "cluster_type", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "name")) return walk.Text(inner, "cluster_type.name", extension);
    if (!Named(key, "typed_config") || (!extension.empty() && extension != kAggregate)) return true;
    return walk.Fields(inner, "cluster_type.typed_config", [&](JsonKey name, JsonWalk::Value list) {
      simdjson::ondemand::json_type type;
      if (!Named(name, "clusters") || list.type().get(type) ||
          type != simdjson::ondemand::json_type::array) {
        return true;
      }
      return walk.Elements(list, "clusters", [&](JsonWalk::Value member) {
        return walk.Text(member, "clusters", members.emplace_back());
      });
    });
  });
}

bool ReadCluster(JsonWalk& walk, JsonWalk::Value value, ClusterConfig& cluster,
                 ClusterLayers& layers) {
  std::string_view type;
  std::string extension;
  std::vector<std::string> members;
  ServiceHints hints;
  const bool read = walk.Fields(value, "cluster", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "name")) return walk.Text(inner, "cluster.name", cluster.name);
    if (Named(key, "type")) return walk.Text(inner, "cluster.type", type);
    if (Named(key, "alt_stat_name")) {
      return walk.Text(inner, "alt_stat_name", cluster.stat_name);
    }
    if (Named(key, "cluster_type")) return ReadClusterType(walk, inner, extension, members);
    if (Named(key, "metadata")) return ReadClusterMetadata(walk, inner, hints);
    if (Named(key, "load_assignment")) return ReadLoadAssignment(walk, inner, hints);
    if (!Named(key, "eds_cluster_config")) return true;
    return walk.Fields(inner, "eds_cluster_config", [&](JsonKey name, JsonWalk::Value eds) {
      return !Named(name, "service_name") ||
             walk.Text(eds, "service_name", cluster.eds_service_name);
    });
  });
  if (!read) return false;
  if (cluster.name.empty()) return walk.Fail("cluster.name", simdjson::NO_SUCH_FIELD);
  cluster.discovery = extension.empty() ? DiscoveryOf(type) : DiscoveryOfExtension(extension);
  cluster.service = ServiceOfCluster(cluster.name);
  if (cluster.service.empty()) cluster.service = hints.metadata;
  if (cluster.service.empty()) cluster.service = ServiceOfCluster(cluster.eds_service_name);
  if (cluster.service.empty()) cluster.service = hints.dns;
  if (extension == kAggregate) layers.AddAggregate(cluster.name, std::move(members));
  return true;
}

}  // namespace

bool ReadClusterConfig(JsonWalk& walk, JsonWalk::Value value, bool from_bootstrap, ConfigDump& dump,
                       ClusterLayers& layers) {
  ClusterConfig cluster;
  cluster.from_bootstrap = from_bootstrap;
  bool has_cluster = false;
  const bool read = walk.Fields(value, "clusters", [&](JsonKey key, JsonWalk::Value inner) {
    if (!Named(key, "cluster")) return true;
    has_cluster = true;
    return ReadCluster(walk, inner, cluster, layers);
  });
  if (!read) return false;
  // An entry that only reports a rejected update holds no cluster.
  if (has_cluster) dump.clusters.push_back(std::move(cluster));
  return true;
}

}  // namespace phantomd
