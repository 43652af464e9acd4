// What the Kubernetes feed and the node's own kernel tell about pods, slices and nodes, as plain
// values.
//
// The same fields as the messages of the same name in proto/phantom/v1/recording.proto. When the
// agent learned a value is not part of it: `observed` is passed beside it. WallTime fields come
// from the API, have a grain of 1 s and other machines' clocks: they narrow bounds, they never
// order.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/base/nouns.h"

namespace phantomd {

enum class PodPhase {
  kUnspecified = 0,
  kPending = 1,
  kRunning = 2,
  kSucceeded = 3,
  kFailed = 4,
};

// The state of one pod after a change, cut to what the index needs.
struct PodChange {
  PodRef pod;
  bool deleted = false;     // the object is gone from the API
  BootTime not_before;      // set when a gap hides the instant: it lies in [not_before, observed]
  std::vector<IpAddr> ips;  // status.podIPs
  bool host_network = false;
  PodPhase phase = PodPhase::kUnspecified;
  bool ready = false;
  WallTime deletion_requested;   // deletionTimestamp minus grace; unset: not requested
  WallTime containers_finished;  // latest finishedAt once no container runs any more; unset: some
                                 // may run
  std::string departure_reason;  // status.reason: Evicted, Preempted, NodeLost, ...
  WallTime created;              // creationTimestamp

  friend bool operator==(const PodChange&, const PodChange&) = default;
};

// The state of one EndpointSlice after a change.
struct SliceChange {
  struct Endpoint {
    std::vector<IpAddr> addresses;
    bool ready = true;    // defaults of the API applied: absent means true
    bool serving = true;  // absent means ready
    bool terminating = false;
    PodUid pod_uid;  // targetRef.uid; empty: no pod target

    friend bool operator==(const Endpoint&, const Endpoint&) = default;
  };
  struct Port {
    std::string name;
    uint16_t port = 0;

    friend bool operator==(const Port&, const Port&) = default;
  };
  std::string ns;
  std::string name;
  std::string service;  // label kubernetes.io/service-name
  bool deleted = false;
  BootTime not_before;  // as in PodChange
  std::vector<Port> ports;
  std::vector<Endpoint> endpoints;

  friend bool operator==(const SliceChange&, const SliceChange&) = default;
};

// The state of one Node after a change.
struct NodeChange {
  std::string name;
  bool deleted = false;
  BootTime not_before;            // as in PodChange
  bool ready = false;             // condition Ready is True
  WallTime last_heartbeat;        // the Lease's renewTime, else lastHeartbeatTime of that condition
  std::vector<IpAddr> addresses;  // InternalIP and ExternalIP
  std::vector<std::string> pod_cidrs;  // spec.podCIDRs, where the cluster assigns them

  friend bool operator==(const NodeChange&, const NodeChange&) = default;
};

// The kernel of the agent's own node saw a local pod end.
struct PodEnd {
  PodUid pod_uid;
  std::vector<IpAddr> ips;
  BootTime ended;
  std::string evidence;  // "last process", "network namespace", "route"

  friend bool operator==(const PodEnd&, const PodEnd&) = default;
};

enum class Feed { kUnspecified = 0, kPods = 1, kSlices = 2, kNodes = 3 };
enum class FeedState {
  kUnspecified = 0,
  kSynced = 1,  // the initial or repeated list is complete and the watch runs
  kBroken = 2,  // the watch ended and has not been resumed
};

// The health of one Kubernetes feed. Between kBroken and kSynced the index may be behind.
struct FeedChange {
  Feed feed = Feed::kUnspecified;
  FeedState state = FeedState::kUnspecified;
  BootTime good_until;  // with kBroken: the last instant at which the watch was known to be alive

  friend bool operator==(const FeedChange&, const FeedChange&) = default;
};

}  // namespace phantomd
