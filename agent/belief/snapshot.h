// BeliefSnapshot: what one proxy's admin API said it would connect to, at one poll.
//
// The same fields as the message of that name in proto/phantom/v1/recording.proto. `requested` and
// `received` bracket the /clusters request: the proxy held this belief at some instant between the
// two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"

namespace phantomd {

// How a cluster learns its endpoints (Envoy's cluster type).
enum class Discovery {
  kUnspecified = 0,
  kStatic = 1,
  kStrictDns = 2,
  kLogicalDns = 3,
  kEds = 4,
  kOriginalDst = 5,
  kCustom = 6,
};

// Which filter chains use a cluster.
enum class Layer {
  kUnspecified = 0,
  kL4 = 1,     // only TCP/TLS filter chains: no HTTP log ever shows its connections
  kL7 = 2,     // only HTTP connection managers
  kMixed = 3,  // both: one connection cannot be told apart
};

struct BeliefSnapshot {
  struct Endpoint {
    SocketAddr address;
    bool in_assignment = false;    // listed by /config_dump?include_eds and not pending removal
    bool in_host_set = false;      // listed by /clusters
    bool pending_removal = false;  // removed by the control plane, held by health checks
    bool failed_outlier_check = false;
    bool failed_active_health_check = false;
    std::string workload;   // "namespace/name" where the endpoint's metadata names it
    uint64_t connects = 0;  // the host's cx_total in this cluster; 0 again when the host comes back
    uint64_t connect_failures = 0;  // the host's cx_connect_fail
    std::string mesh_cluster;       // the cluster ID in its metadata, where the mesh writes one

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
  };
  struct Cluster {
    std::string name;
    std::string service;  // "namespace/name" where the cluster's name or metadata tells it
    Discovery discovery = Discovery::kUnspecified;
    Layer layer = Layer::kUnspecified;
    std::vector<Endpoint> endpoints;
    WallTime updated;  // the cluster's update_time statistic, where kept; 1 ms grain

    friend bool operator==(const Cluster&, const Cluster&) = default;
  };

  ProxyId proxy_id;
  BootTime requested;
  BootTime received;
  bool complete = false;  // false: only clusters that changed since this proxy's previous snapshot
  std::vector<Cluster> clusters;
  std::vector<std::string> removed_clusters;
  std::string error;  // non-empty: the poll failed; only proxy_id and the two times are set besides

  friend bool operator==(const BeliefSnapshot&, const BeliefSnapshot&) = default;
};

}  // namespace phantomd
