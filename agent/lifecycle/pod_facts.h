// PodFacts: what has been told of one pod, and the arithmetic that turns it into bounds.
//
// A pod is dead when none of its containers runs any more and none will be started again. No field
// of the API says when that was, so several facts bound it, each from one side (the rules are
// beside the code). Example, feed_delay 2 s, clock_error 0.5 s, wall = boot: deletion requested at
// 100, nothing else told: ended in [99.5 s, Max]. Then finishedAt 105, told at 105.8 s: [104.5 s,
// 105.8 s], likely 105.6 s. Had the object vanished at 103 s with its containers running (force
// delete), there would be no upper bound: it may go on serving.
//
// Pure arithmetic on plain values.
#pragma once

#include <cstdint>
#include <string_view>

#include "agent/base/boot_time.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/time_rules.h"

namespace phantomd {

// Instants named `told` are receipts, unset (zero) until told.
struct PodFacts {
  WallSecond created;
  WallSecond deletion_requested;  // the first one seen: a shortened grace never moves a request
  WallSecond finished;            // of the last container, while none runs
  // Set: a gap hid the deletion; how long before its receipt the gap's last good instant was.
  uint32_t deletion_hidden_ms = 0;
  BootTime first_told;
  BootTime life_told;  // the last status that did not speak of its end
  BootTime deletion_told;
  BootTime finished_told;
  BootTime terminal_told;  // phase Succeeded or Failed
  BootTime deleted_told;

  bool deleted_in_gap() const { return deletion_hidden_ms != 0; }
  BootTime deleted_not_before() const {
    return deleted_told - std::chrono::milliseconds(deletion_hidden_ms);
  }
};

// What the pod's Node allows to believe. Defaults: the node has never been lost.
struct NodeDoubt {
  BootTime lost_since = BootTime::Max();  // the pod may have died unseen from here on
  bool terminal_untrusted = false;        // the terminal phase was written for a lost node
  bool deletion_untrusted = false;        // the same of the object's removal
};

struct PodEnding {
  TimeBounds bounds = {BootTime::Max(), BootTime::Max()};
  BootTime likely = BootTime::Max();
  std::string_view evidence;  // empty: nothing says that it ended

  bool suspected() const { return bounds.not_before != BootTime::Max(); }
};

// Adds one status of the pod. False: it told nothing new.
bool Learn(const PodChange& change, BootTime observed, PodFacts& facts);

inline bool IsTerminal(PodPhase phase) {
  return phase == PodPhase::kSucceeded || phase == PodPhase::kFailed;
}

// The pod asked to go or gone: it holds an address weaker than a pod that runs.
inline bool IsLeaving(const PodFacts& facts) {
  return facts.deletion_requested.is_set() || facts.terminal_told.is_set() ||
         facts.deleted_told.is_set();
}

PodEnding EndingOf(const PodFacts& facts, bool failed, const NodeDoubt& doubt,
                   const TimeRules& rules);

// Not before the object was created; Min where the creation is not told.
inline BootTime EarliestLife(const PodFacts& facts, const TimeRules& rules) {
  return facts.created.is_set() ? rules.OfApi(facts.created).not_before : BootTime::Min();
}

// The last instant at which news proves the pod alive: an end that nothing dates lies behind it.
inline BootTime ProvenAlive(const PodFacts& facts, const TimeRules& rules) {
  return facts.life_told.is_set() ? facts.life_told - rules.feed_delay : EarliestLife(facts, rules);
}

// When the deletion was requested; Max: it was not. `floor`: the earliest instant of which the
// receipt of the request, or of the deletion if nobody told of a request, may have told.
TimeBounds DeletionBounds(const PodFacts& facts, BootTime floor, const TimeRules& rules);

}  // namespace phantomd
