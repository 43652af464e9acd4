// FeedLog remembers when one Kubernetes feed could be believed.
//
// A feed is blind before its first list is complete, and in every gap: from feed_delay before
// `good_until` of the broken watch until the list that mends it is complete. News received inside a
// gap may tell of anything since the gap began. Example, feed_delay 2 s: synced at 10 s, broken at
// 50 s with good_until 45 s, synced at 60 s: blind in [Min, 10) and [43 s, 60 s); NewsFloor(55) =
// 43 s, NewsFloor(70) = 68 s, NewsFloor(9) = Min.
//
// Everything goes by instants, not by the order of calls: news stamped with the very instant of a
// sync belongs to the list that was completed by it. Thread-compatible.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/lifecycle/changes.h"

namespace phantomd {

class FeedLog {
 public:
  struct Gap {
    BootTime good_until;
    BootTime reported;                  // receipt of kBroken
    BootTime mended = BootTime::Max();  // receipt of kSynced
  };

  explicit FeedLog(Nanos feed_delay) : feed_delay_(feed_delay) {}

  void Apply(const FeedChange& change, BootTime observed);
  void Changed(BootTime observed) { last_change_ = observed; }
  // Forgets gaps that were mended before `horizon`.
  void Compact(BootTime horizon);

  bool BlindAt(BootTime t) const;
  // From here on nothing is known: Min before the first sync, Max while the feed is whole.
  BootTime BlindFrom() const;
  // The earliest instant that news received at `observed` may tell of.
  BootTime NewsFloor(BootTime observed) const {
    if (gaps_.empty() && observed > first_sync_) return observed - feed_delay_;
    return NewsFloorInGaps(observed);
  }
  // Whether news received at `observed` may tell of what happened long before, unseen.
  bool CatchingUp(BootTime observed) const { return NewsFloor(observed) < observed - feed_delay_; }

  BootTime first_sync() const { return first_sync_; }  // Max: never
  bool synced() const { return synced_; }
  BootTime good_until() const { return gaps_.empty() ? BootTime() : gaps_.back().good_until; }
  BootTime last_change() const { return last_change_; }
  uint64_t syncs() const { return syncs_; }
  const std::vector<Gap>& gaps() const { return gaps_; }

 private:
  BootTime NewsFloorInGaps(BootTime observed) const;

  const Nanos feed_delay_;
  BootTime first_sync_ = BootTime::Max();
  bool synced_ = false;
  std::vector<Gap> gaps_;  // in order of `reported`
  BootTime last_change_;
  uint64_t syncs_ = 0;
};

}  // namespace phantomd
