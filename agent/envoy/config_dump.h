// DecodeConfigDump reads Envoy's /config_dump?include_eds: one atomic view of the clusters, of the
// endpoints assigned to them, and of the filter chains and routes that lead to them.
//
// The EDS part has no version and no time. It is rebuilt from the live host sets, so it goes on
// listing hosts that the control plane removed and health checks still hold; only /clusters marks
// those. Every active cluster appears in it, not only EDS ones.
//
// Sections are told apart by their field names, so a dump that `mask` cut to some sections is read
// as well: what it leaves out is empty here.
//
// Pure function over bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/ip_addr.h"
#include "agent/belief/snapshot.h"

namespace phantomd {

// Envoy's coarse health of an endpoint: EDS status, outlier ejection and active checks in one.
enum class EndpointHealth {
  kUnknown = 0,
  kHealthy = 1,
  kUnhealthy = 2,
  kDegraded = 3,
  kDraining = 4
};

struct AssignedEndpoint {
  SocketAddr address;
  bool tunnelled = false;              // HBONE, see endpoint_address.h
  std::vector<SocketAddr> additional;  // further addresses of the same host (happy eyeballs)
  std::string workload;                // "namespace/name" from Istio's metadata
  std::string mesh_cluster;            // the mesh's cluster ID from the same
  EndpointHealth health = EndpointHealth::kUnknown;
};

struct EndpointAssignment {
  std::string cluster_name;  // the EDS service name where the cluster has one: several may share it
  std::vector<AssignedEndpoint> endpoints;
};

struct ClusterConfig {
  std::string name;
  std::string eds_service_name;  // empty: its name
  std::string stat_name;         // alt_stat_name; empty: its name
  std::string service;           // "namespace/name" of the Kubernetes Service it means, or empty
  Discovery discovery = Discovery::kStatic;
  bool from_bootstrap = false;  // a static cluster; else the control plane sent it
  Layer layer = Layer::kUnspecified;
};

struct ConfigDump {
  std::vector<ClusterConfig> clusters;  // active ones
  std::vector<EndpointAssignment> assignments;
};

absl::StatusOr<ConfigDump> DecodeConfigDump(std::string_view bytes);

}  // namespace phantomd
