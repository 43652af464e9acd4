// ProxyBelief: everything one proxy told, poll by poll.
//
// A poll that does not mention a cluster confirms it, at the cost of one stamp for the whole proxy.
// That holds only as long as the snapshots form an unbroken chain from a complete one: after lost
// observations, clusters are confirmed by the snapshots that list them, and by nothing else, until
// the next complete snapshot.
// Example: complete at 10 s, incremental at 25 s (nothing changed): every cluster confirmed at 25.
// Observations lost from 30 to 40 s, incremental at 45 s lists cluster A: A confirmed at 45, B at
// 25. Complete at 60 s without B: B was let go between 25 and 60.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/belief/address_index.h"
#include "agent/belief/belief.h"
#include "agent/belief/cluster_history.h"
#include "agent/belief/name_pool.h"
#include "agent/belief/poll_log.h"
#include "agent/belief/snapshot.h"

namespace phantomd {

class ProxyBelief {
 public:
  // Pool and index outlive this.
  ProxyBelief(ProxyId id, uint32_t number, NamePool& names, AddressIndex& index)
      : id_(std::move(id)), number_(number), names_(names), index_(index) {}

  const ProxyId& id() const { return id_; }
  uint32_t number() const { return number_; }

  std::vector<SocketAddr> Apply(const BeliefSnapshot& snapshot, WallOffset offset);
  void Lost(BootTime from, BootTime to);
  void Gone(BootTime when);
  void Compact(BootTime horizon);
  // Nothing of it reaches behind `horizon` any more: it may be forgotten whole.
  bool Forgotten(BootTime horizon) const;

  bool usable(BootTime t) const { return polls_.usable(t); }
  bool AnsweredAfter(BootTime t) const { return last_answer_.requested >= t; }
  BootTime ToldAfter(BootTime t) const;  // see BeliefFacts
  // Null: not remembered.
  const ClusterHistory* Cluster(uint32_t name) const;
  const absl::flat_hash_map<uint32_t, ClusterHistory>& clusters() const { return clusters_; }
  // The last poll that confirmed what is known of the cluster.
  Poll Confirmed(const ClusterHistory& cluster) const;
  // All but received_before and connects_around.
  ClusterBelief BeliefOf(const ClusterHistory& cluster, const EndpointHistory& endpoint,
                         const EndpointHistory::Stay& stay, Hold hold) const;
  int64_t ConnectsAround(const EndpointHistory& endpoint, const EndpointHistory::Stay& stay,
                         BootTime t) const;
  Belief::ProxyFacts Facts() const;

  // --- To tell it again ---
  struct Telling {
    enum class What { kSnapshot, kLost, kGone };
    BootTime at;
    What what = What::kSnapshot;
    TimeBounds lost;  // kLost: from, to
    Poll poll;        // kSnapshot, and what follows
    std::string error;
    bool complete = false;
    std::vector<uint32_t> clusters;  // told at this poll, or removed by it; all, if complete
  };
  std::vector<Telling> Tellings() const;  // in order
  BeliefSnapshot SnapshotOf(const Telling& telling, WallOffset offset) const;

 private:
  static constexpr Nanos kTick{1};  // the least by which two stamps differ

  struct Loss {
    BootTime from, to;
    BootTime told_after;  // `received` of the last answer when the loss was told
    Poll trusted_until;   // the last poll before it
    BootTime healed;      // `received` of the complete snapshot that ended it; unset: not yet
  };
  bool LossWithin(BootTime from, BootTime to) const;
  std::vector<SocketAddr> ApplyClusters(const BeliefSnapshot& snapshot, const Poll& poll,
                                        WallOffset offset);

  const ProxyId id_;
  const uint32_t number_;
  NamePool& names_;
  AddressIndex& index_;

  PollLog polls_;
  Poll last_answer_;  // good or failed
  std::string error_;
  bool trusted_ = false;  // the snapshots since the last complete one form an unbroken chain
  Poll trusted_until_;    // while not trusted: the last poll that confirmed everything
  BootTime first_complete_;
  std::vector<Poll> completes_;  // the complete snapshots that are remembered
  bool gone_ = false;
  std::vector<BootTime> ends_;  // when it ended: once, unless the news of its end was wrong
  std::vector<Loss> losses_;
  absl::flat_hash_map<uint32_t, ClusterHistory> clusters_;  // by name
};

}  // namespace phantomd
