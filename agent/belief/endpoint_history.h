// EndpointHistory: when one cluster of one proxy held one ip:port, and how.
//
// A stay is a time without a break; it consists of stretches, one per Hold. A change lies between
// two polls and may be dated by the cluster's update_time; a stay counts as held up to gone_at.
// Example, polls at 10, 25, 40, 55 and 70 s (each requested 0.1 s before): listed in the assignment
// at 25, in the host set alone at 40, by nobody at 55, and again at 70:
//   stay 1: earliest 9.9 (the poll at 10 s did not list it), first 25, last 40, gone_at 55
//           of which kAssigned until 40, then kHostSet
//   stay 2: earliest 54.9, first 70, open
//   at 9 s no belief; at 20 and 39 s kAssigned; at 54 s kHostSet; from 55 s on stay 2, possibly
// With update_time 33 s in the poll at 40 s, kHostSet begins at 33.001 s.
//
// 96 bytes without history: an agent may hold 400,000 of them. Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/belief/belief.h"
#include "agent/belief/poll_log.h"

namespace phantomd {

class EndpointHistory {
 public:
  static constexpr Nanos kUpdateTimeGrain = std::chrono::milliseconds(1);

  // What one poll says of the endpoint.
  struct Listing {
    Hold hold = Hold::kAssigned;
    bool failed_outlier_check = false;
    bool failed_active_health_check = false;
    uint32_t workload = 0;  // numbers of the name pool
    uint32_t mesh_cluster = 0;
    uint64_t connects = 0;
  };
  // The poll that tells a change, the one that confirmed what was before, and update_time + 1 ms.
  struct Change {
    Poll poll;
    Poll confirmed;  // !exists(): nothing was known before
    BootTime dated;  // unset: the proxy keeps no update_time
  };
  struct Stretch {
    BootTime earliest;  // not held before
    BootTime first;     // `received` of the first poll that listed it so
    BootTime first_at;  // by which it surely was held so: `first`, narrowed by update_time
    Hold hold = Hold::kAssigned;
  };
  struct Ended {
    Stretch stretch;
    Poll last;           // the last poll that listed it so
    BootTime gone_poll;  // `received` of the poll that said otherwise
    BootTime gone_at;    // by which it surely was no longer held so: narrowed by update_time
  };
  // A stay, stretches joined.
  struct Stay {
    size_t first_stretch = 0, last_stretch = 0;
    Stretch begin;
    Poll last;         // the last poll that listed it; `requested` narrowed by update_time
    BootTime gone_at;  // Max: still listed
    bool latest = false;
  };

  explicit EndpointHistory(SocketAddr address) : address_(address) {}

  const SocketAddr& address() const { return address_; }
  bool listed() const { return listed_; }
  bool ever() const { return listed_ || ended_ != nullptr; }
  const Listing& listing() const { return listing_; }  // the latest told

  // Both say whether a stretch began or ended: a mere count is no change.
  bool List(const Listing& listing, const Change& change);
  bool Unlist(const Change& change);

  // `confirmed` below: the last poll that confirmed the cluster's content.
  std::vector<Stay> Stays(const Poll& confirmed) const;  // oldest first
  // The stay around t, and how the cluster held the endpoint then; kDropped: it had let go by t.
  struct Around {
    Stay stay;
    Hold hold = Hold::kAssigned;
    // Set where the stay may not have begun by t: when the one before it had surely ended.
    BootTime left_before;
  };
  std::optional<Around> At(BootTime t, const Poll& confirmed) const;
  // The host's connects as told by the poll received at `received`; -1: not remembered.
  int64_t ConnectsAt(BootTime received) const;
  // What the poll received at `received` said; nothing: it did not list it.
  std::optional<Hold> HoldAt(BootTime received) const;

  // Forgets stays that ended before `before`.
  void Compact(BootTime before);

  // Every stretch that has ended, oldest first, and the current one.
  const std::vector<Ended>* ended() const { return ended_.get(); }
  const Stretch& current() const { return current_; }
  // `received` of the polls in which the number of connects changed.
  std::vector<BootTime> ConnectChanges() const;

 private:
  struct Sample {
    BootTime since;
    uint64_t connects;
  };
  // One stretch as if all had ended.
  Ended StretchAt(size_t index, const Poll& confirmed) const;
  size_t stretches() const { return (ended_ ? ended_->size() : 0) + (listed_ ? 1 : 0); }
  bool Joined(const Ended& earlier, const Stretch& later) const;
  Stay StayOf(size_t stretch, const Poll& confirmed) const;
  void Count(uint64_t connects, BootTime now);

  SocketAddr address_;
  bool listed_ = false;
  Listing listing_;
  Stretch current_;                              // while listed
  std::unique_ptr<std::vector<Ended>> ended_;    // null: none; most endpoints never leave
  std::unique_ptr<std::vector<Sample>> counts_;  // null: connects never changed in the latest stay
};

}  // namespace phantomd
