#include "agent/envoy/host_sets.h"

#include <utility>

#include "agent/envoy/endpoint_address.h"
#include "agent/envoy/json_walk.h"

namespace phantomd {
namespace {

bool ReadStat(JsonWalk& walk, JsonWalk::Value value, HostSets::Host& host) {
  std::string_view name;
  uint64_t count = 0;
  const bool read = walk.Fields(value, "stats", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "name")) return walk.Text(inner, "stats.name", name);
    if (Named(key, "value")) return walk.Number(inner, "stats.value", count);
    return true;
  });
  if (name == "cx_total") host.connects = count;
  if (name == "cx_connect_fail") host.connect_failures = count;
  return read;
}

bool ReadHealth(JsonWalk& walk, JsonWalk::Value value, HostSets::Host& host) {
  return walk.Fields(value, "health_status", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "pending_dynamic_removal")) {
      return walk.Flag(inner, "pending_dynamic_removal", host.pending_removal);
    }
    if (Named(key, "failed_outlier_check")) {
      return walk.Flag(inner, "failed_outlier_check", host.failed_outlier_check);
    }
    if (Named(key, "failed_active_health_check")) {
      return walk.Flag(inner, "failed_active_health_check", host.failed_active_health_check);
    }
    return true;
  });
}

bool ReadHost(JsonWalk& walk, JsonWalk::Value value, HostSets::Cluster& cluster) {
  HostSets::Host host;
  EndpointAddress address;
  const bool read = walk.Fields(value, "host_statuses", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "address")) return ReadEndpointAddress(walk, inner, address);
    if (Named(key, "envoy_internal_address")) return ReadInternalAddress(walk, inner, address);
    if (Named(key, "health_status")) return ReadHealth(walk, inner, host);
    if (Named(key, "stats")) {
      return walk.Elements(inner, "stats",
                           [&](JsonWalk::Value stat) { return ReadStat(walk, stat, host); });
    }
    return true;
  });
  if (!read) return false;
  if (address.address.has_value()) {
    host.address = *address.address;
    host.tunnelled = address.tunnelled;
    cluster.hosts.push_back(host);
  }
  return true;
}

bool ReadCluster(JsonWalk& walk, JsonWalk::Value value, HostSets& sets) {
  HostSets::Cluster cluster;
  const bool read = walk.Fields(value, "cluster_statuses", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "name")) return walk.Text(inner, "cluster_statuses.name", cluster.name);
    if (Named(key, "eds_service_name")) {
      return walk.Text(inner, "eds_service_name", cluster.eds_service_name);
    }
    if (Named(key, "host_statuses")) {
      return walk.Elements(inner, "host_statuses",
                           [&](JsonWalk::Value host) { return ReadHost(walk, host, cluster); });
    }
    return true;
  });
  if (!read) return false;
  if (cluster.name.empty()) return walk.Fail("cluster_statuses.name", simdjson::NO_SUCH_FIELD);
  sets.clusters.push_back(std::move(cluster));
  return true;
}

}  // namespace

absl::StatusOr<HostSets> DecodeHostSets(std::string_view bytes) {
  HostSets sets;
  bool has_fields = false;
  bool has_clusters = false;
  auto status = JsonWalk::ReadDocument(
      "/clusters", bytes, [&](JsonWalk& walk, JsonKey key, JsonWalk::Value value) {
        has_fields = true;
        if (!Named(key, "cluster_statuses")) return true;
        has_clusters = true;
        return walk.Elements(value, "cluster_statuses", [&](JsonWalk::Value cluster) {
          return ReadCluster(walk, cluster, sets);
        });
      });
  if (!status.ok()) return status;
  // Envoy without any cluster prints {}; an object with other fields is somebody else's answer.
  if (has_fields && !has_clusters) {
    return absl::InvalidArgumentError(
        "/clusters: no cluster_statuses in it, so not Envoy's answer");
  }
  return sets;
}

}  // namespace phantomd
