// What several rooms name in the same way: a workload, a pod, a proxy.
//
// Plain values, the same fields as the messages of the same name in proto/phantom/v1/types.proto.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"

namespace phantomd {

struct WorkloadRef {
  std::string ns;    // Kubernetes namespace
  std::string kind;  // Deployment, StatefulSet, DaemonSet, Job, Rollout, ReplicaSet, Pod, ...
  std::string name;

  friend auto operator<=>(const WorkloadRef&, const WorkloadRef&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const WorkloadRef& w) {
    return H::combine(std::move(h), w.ns, w.kind, w.name);
  }
};

struct PodRef {
  PodUid uid;
  std::string ns;
  std::string name;
  WorkloadRef workload;
  std::string
      revision;  // pod-template-hash, controller-revision-hash or rollouts-pod-template-hash
  std::string node_name;

  friend bool operator==(const PodRef&, const PodRef&) = default;
};

enum class ProxyRole {
  kUnspecified = 0,
  kSidecar = 1,
  kGateway = 2,
  kWaypoint = 3,
  kZtunnel = 4,
  kStandalone = 5,  // no pod around it
};

struct Proxy {
  ProxyId id;
  std::string name;  // "namespace/pod", or Envoy's node id
  ProxyRole role = ProxyRole::kUnspecified;
  PodRef pod;  // uid empty: no pod around it
  std::string envoy_node_id;
  std::string envoy_version;
  uint64_t netns_cookie = 0;
  std::vector<uint32_t> process_ids;
  std::string admin_address;  // "127.0.0.1:15000", inside the proxy's network namespace
  uint64_t cgroup_id = 0;
  BootTime process_start;  // of the oldest of its processes: pids are reused

  friend bool operator==(const Proxy&, const Proxy&) = default;
};

}  // namespace phantomd
