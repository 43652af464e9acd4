// Why pods went away, and the named change of a workload that took them: what `phantomctl rollouts`
// lists.
//
// A departure may be settled late (a StatefulSet's new revision exists only after the delete), so a
// pod's change is asked for when it is shown, not stored beside its counts.
#pragma once

#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/nouns.h"

namespace phantomd {

enum class Departure {
  kUnspecified = 0,
  kRollout = 1,    // replaced by another revision of its workload
  kScaleDown = 2,  // its own revision shrank
  kEviction = 3,   // evicted, preempted, or its node went away
  kCompleted = 4,  // Succeeded or Failed
  kDeleted = 5,    // deleted, none of the above seen
};

// A pod the lifecycle knows, by number: never reused while the agent runs. 0: none.
enum class PodHandle : uint32_t { kNone = 0 };

// One change of a workload: a rollout, or a scale-down, an eviction, a job's end listed like one.
struct WorkloadChange {
  std::string name;  // "<namespace>/<kind>/<workload>/<to revision>/<T>" or
                     // ".../<revision>/scale-down-<T>", T as 20261129T185903Z: the second in which
                     // the first departing pod's deletion was requested
  WorkloadRef workload;
  std::string from_revision;
  std::string to_revision;
  Departure departure = Departure::kUnspecified;
  BootTime started;             // of the first departing pod: deletion request, or its end
  BootTime superseded;          // a newer target began; unset: this is the newest
  std::vector<PodHandle> pods;  // departing, in the order of their departure
};

}  // namespace phantomd
