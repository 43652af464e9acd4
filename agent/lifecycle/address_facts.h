// AddressFacts: what may have been true of one address at one instant t, as far as the lifecycle
// index can tell now.
//
// It states possibilities and their bounds, never a verdict: the judge eliminates among them.
// Example: pod A's tenancy was acquired surely by 10 s and released in [20 s, 22 s]; t = 21 s: A
// may hold the address (not sure), and nobody may. t = 15 s: A is sure, and "nobody" is impossible.
// t = 30 s: nobody, for certain.
//
// Plain values; pointers are valid until the next Apply or Compact of the Lifecycle they came from.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "agent/base/boot_time.h"
#include "agent/base/nouns.h"
#include "agent/lifecycle/departure.h"

namespace phantomd {

class PodIndex;

// A pod's names as the index keeps them: put together when somebody reads them, because a verdict
// needs none of them and composing them allocates. Null: no pod.
class LazyPodRef {
 public:
  LazyPodRef() = default;
  LazyPodRef(const PodIndex& index, uint32_t slot) : index_(&index), slot_(slot) {}

  bool is_null() const { return index_ == nullptr; }
  const PodRef* get() const;
  const PodRef* operator->() const { return get(); }
  const PodRef& operator*() const { return *get(); }

 private:
  const PodIndex* index_ = nullptr;
  uint32_t slot_ = 0;
};

// One pod's hold on one address.
struct TenancyFacts {
  PodHandle pod = PodHandle::kNone;
  LazyPodRef ref;
  TimeBounds acquired;
  TimeBounds released;  // not_after Max: not known to have ended (or no upper bound: force-deleted)
  BootTime likely_released;  // the likely instant: the later bound minus what news usually takes;
                             // Max: not ended
  BootTime likely_acquired;
  std::string_view evidence;  // what says that it ended: "deleted event", "phase Failed", "finished
                              // containers", ...
};

// One pod that may have held the address at t.
struct PossibleHolder {
  TenancyFacts tenancy;
  bool sure = false;  // t lies inside the inner bounds
  bool may_be_in_service =
      true;  // of the withdrawn clock at t; both may be possible inside its bounds
  bool may_be_withdrawn = false;
  TimeBounds withdrawn;  // the withdrawal that t may lie behind, or the next one after t; Max: none
  BootTime likely_withdrawn;
  bool end_untold = false;  // withdrawn, and nobody has reported its end yet: later news may tell
};

enum class UntoldReason {
  kNone = 0,
  kBeforeFirstSync,  // t lies before the first list of pods was complete
  kFeedBroken,       // the pod feed was broken at t
  kAddressUntold,    // a pod existed at t whose address is still unknown
};

struct AddressFacts {
  absl::InlinedVector<PossibleHolder, 2> holders;  // newest tenancy first
  bool nobody = true;                              // nobody may have held it: no holder is sure
  UntoldReason untold = UntoldReason::kNone;       // a pod we were not told of may have held it
  bool before_horizon = false;                     // t lies before what the index still answers for

  bool pods_broken = false;    // the pod feed was broken (or not yet synced) at t
  bool slices_broken = false;  // the same of the slice feed

  // The latest tenancy that had ended, surely or possibly, by t: who held it before it died. pod
  // kNone: none known.
  TenancyFacts last;
  bool ever_held = false;           // some pod is known to have held it, at any instant up to now
  bool other_holder_known = false;  // more than one pod is known to have held it
  bool history_complete = false;    // it cannot have had a holder before the horizon that we do not
                                    // know: the address first appeared after the first sync

  bool node_address = false;  // an address of a Node, at t
  bool listed_without_pod =
      false;                     // listed by a slice without a pod target, at t (manual endpoints)
  bool listed_with_pod = false;  // listed at any time by a slice with a pod target
  bool in_pod_range = false;     // inside a known pod range
  bool pod_ranges_known = false;
  bool no_pod_address = false;  // surely: in a block of addresses without a pod or a pod range
};

}  // namespace phantomd
