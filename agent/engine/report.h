// Report: all that the agent has to say at one instant, as immutable values. The engine builds it,
// serve/ and phantomctl show it; they compute nothing.
//
// The same content as the messages of the same name in proto/phantom/v1/query.proto; agent/wire/
// converts. Instants are BootTime; `offset` turns them into wall time for people.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/base/nouns.h"
#include "agent/belief/snapshot.h"
#include "agent/engine/input.h"
#include "agent/ledger/connection.h"
#include "agent/ledger/metric_cells.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/departure.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

using Counts = std::vector<std::pair<std::string, uint64_t>>;  // key, count; sorted by key

struct FeedStatus {
  Feed feed = Feed::kUnspecified;
  bool synced = false;
  BootTime last_change;
  uint64_t relists = 0;
  BootTime good_until;
};

struct StatusReport {
  std::string node_name;
  std::string agent_version;
  BootTime started;
  BootTime judged_until;  // every attempt that ended before this instant has its verdict
  BootTime horizon;
  uint64_t attempts = 0;     // judged
  Counts attempts_by_class;  // DestinationClass names; sums to attempts
  Counts lost;               // by Loss.what
  std::vector<Loss> losses;  // when; the latest kLosses periods, the latest last
  static constexpr size_t kLosses = 10;
  std::vector<FeedStatus> feeds;
  uint32_t proxies = 0;
  uint32_t proxies_without_belief = 0;
  uint64_t pods_indexed = 0;
  uint64_t tombstones = 0;
  uint64_t held = 0;
  Counts late;  // by kind of input
  uint64_t connections_dropped = 0;
  uint64_t not_judged = 0;         // INTERCEPTED and PROXY_CONTROL
  Counts not_judged_by_initiator;  // the same, by Initiator name
};

struct ProxyReport {
  Proxy proxy;
  BootTime last_belief;  // unset: none yet
  std::string belief_error;
  uint32_t clusters = 0;
  uint32_t endpoints = 0;
  uint32_t stale_endpoints = 0;
  uint64_t attempts = 0;
  uint64_t phantoms = 0;
  uint64_t attempts_lost = 0;  // made by this proxy as the kernel counted them, without a record
  bool lower_bounds = false;   // attempts were lost: the counts may be too small
  Nanos admin_poll_duration{0};
};

// How long one proxy went on believing in the departing pods of one change.
struct ProxyWindow {
  ProxyId proxy_id;
  std::string proxy_name;
  BootTime opened;
  BootTime closed;           // unset: still open
  Nanos closed_error{0};     // half-width
  BootTime last_connection;  // unset: none
  uint64_t attempts = 0;
  uint64_t phantoms = 0;
};

struct RolloutReport {
  std::string name;
  WorkloadRef workload;
  std::string from_revision;
  std::string to_revision;
  Departure departure = Departure::kUnspecified;
  BootTime started;
  BootTime finished;  // unset: still going on
  uint32_t pods_departed = 0;
  uint64_t attempts = 0;  // withdrawn + dead + reused + other
  uint64_t withdrawn = 0;
  uint64_t dead = 0;
  uint64_t reused = 0;
  uint64_t other = 0;
  uint64_t attempts_lost = 0;  // by anybody to anywhere while it went on: the counts are too small
                               // by at most as many
  bool lower_bounds = false;   // by how many is unknown, where attempts_lost is 0
  Counts by_cause;             // DEAD + REUSED only, like the next two
  Counts by_outcome;
  Counts by_layer;
  std::vector<ProxyWindow> windows;  // slowest proxy first
  Nanos window_p50{0};
  Nanos window_max{0};
  Nanos wait_p50{0};
  Nanos wait_max{0};
  Nanos wait_total{0};
  uint64_t stranded = 0;  // established connections that outlived their pod
  Counts stranded_by_end;
  struct Stranded {
    std::string how;  // ConnectionEnd.How name
    uint64_t count = 0;
    Nanos after_p50{0};  // from the pod's likely end to the connection's
    Nanos after_max{0};
  };
  std::vector<Stranded> stranded_after;  // by name
};

struct StaleEndpointReport {
  ProxyId proxy_id;
  std::string proxy_name;
  std::string cluster;
  SocketAddr address;
  DestinationClass destination = DestinationClass::kUnspecified;
  Cause cause = Cause::kUnspecified;
  Holder holder;
  BootTime believed_since;
};

struct Report {
  WallOffset offset;
  StatusReport status;
  std::vector<ProxyReport> proxies;     // by name, then id
  std::vector<RolloutReport> rollouts;  // newest first
  ConnectionChunks connections;         // oldest first; shared, immutable
  // Which change took a departed pod away; a connection's `rollout` is the change of its last
  // holder.
  absl::flat_hash_map<PodUid, std::string> rollout_of;
  std::vector<StaleEndpointReport> stale_endpoints;
  MetricCells metrics;
};

}  // namespace phantomd
