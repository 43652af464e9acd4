// RestoredPart: what an engine had concluded, as the parts that lead a new one to go on as if the
// first had never stopped.
//
// Lifecycle, belief and proxies are told again by the inputs that told them first; these parts hold
// the rest: what still waits, what was counted, and what the engine remembers of its own. Pods go
// by their UIDs: handles differ between two engines. Example: an export at 30 s of an engine in
// which one attempt waits is Header (30 s), inputs from 1 s to 30 s, then EngineTotals, HeldAttempt
// and the ledger's parts, all observed at 30 s.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"
#include "agent/base/nouns.h"
#include "agent/engine/held_attempt.h"
#include "agent/engine/held_end.h"
#include "agent/ledger/counted.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/remnants.h"

namespace phantomd {

// What a feed's status says that no change tells again.
struct FeedTotals {
  uint64_t relists = 0;
  BootTime last_change;

  friend bool operator==(const FeedTotals&, const FeedTotals&) = default;
};

// The first of all parts.
struct EngineTotals {
  BootTime started;  // since when it has counted
  BootTime next_housekeeping;
  BootTime next_compaction;
  BootTime compacted_to;  // the horizon of the last compaction; unset: none yet
  uint64_t judged = 0;
  std::map<std::string, uint64_t> lost;
  std::map<std::string, uint64_t> late;
  std::map<std::string, uint64_t> mesh_cluster_votes;
  std::string mesh_cluster;
  std::map<Feed, FeedTotals> feeds;
  CountedTotals counted;

  friend bool operator==(const EngineTotals&, const EngineTotals&) = default;
};

// The record of silence of one node.
struct NodeSilence {
  struct OfPod {
    PodUid uid;
    BootTime last_answer;
    BootTime last_silence;

    friend bool operator==(const OfPod&, const OfPod&) = default;
  };
  std::string node;
  BootTime not_ready_since;  // unset: ready
  std::vector<OfPod> pods;

  friend bool operator==(const NodeSilence&, const NodeSilence&) = default;
};

// Addresses that one proxy believes in although it should not.
struct WatchedAddresses {
  ProxyId proxy;
  std::vector<IpAddr> ips;

  friend bool operator==(const WatchedAddresses&, const WatchedAddresses&) = default;
};

// Last holders of judged attempts.
struct LastHolders {
  std::vector<PodUid> pods;

  friend bool operator==(const LastHolders&, const LastHolders&) = default;
};

// The pod of a proxy, of which the lifecycle has forgotten the name.
struct PodOfProxy {
  ProxyId proxy;
  PodRef pod;

  friend bool operator==(const PodOfProxy&, const PodOfProxy&) = default;
};

using RestoredPart = std::variant<EngineTotals, HeldAttempt, HeldEnd, NodeSilence, WatchedAddresses,
                                  LastHolders, PodOfProxy, LifecycleRemnant, Counted>;

// Behind a pointer: a part is many times the size of any other input.
struct Restored {
  std::shared_ptr<const RestoredPart> part;  // never null

  friend bool operator==(const Restored& a, const Restored& b) { return *a.part == *b.part; }
};

}  // namespace phantomd
