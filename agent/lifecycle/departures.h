// Departures says why pods went away and gathers them into named changes of their workload.
//
// What came first decides: a pod asked to go by a rollout stays ROLLOUT when its node is lost
// later. A pod is replaced when another revision of its workload is alive, the newest of them being
// the target; a departure without one waits kSettleWithin for a successor. A pod of a StatefulSet
// or DaemonSet keeps a place, which its successor takes only once it is gone: that one decides, by
// its name or its node, whatever other revisions are alive. A successor of its own revision makes
// it DELETED, none SCALE_DOWN.
//
// Example: revision a has pods 1, 2, 3. Pod 4 of b appears; 1 is asked to go at 12:00:05: ROLLOUT,
// "shop/Deployment/catalog/b/20261129T120005Z"; 2 follows within kOneChange of 1: the same change.
// Pod 5 of c appears, 3 is asked to go: ".../c/..." begins and supersedes the first. Rolled back to
// a while c is not ready: pod 5 goes, a and b are alive, target is the newer of them.
//
// While the pod feed is not synced nothing is decided: a list has no order. Thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/lifecycle/departure.h"
#include "agent/lifecycle/pod_index.h"
#include "agent/lifecycle/remnants.h"
#include "agent/lifecycle/time_rules.h"

namespace phantomd {

class Departures {
 public:
  // How long a departure waits for its successor.
  static constexpr Nanos kSettleWithin = std::chrono::seconds(60);
  // Departures of one kind and target no further apart are one change.
  static constexpr Nanos kOneChange = std::chrono::seconds(60);

  Departures(PodIndex& pods, const TimeRules& rules) : pods_(pods), rules_(rules) {}

  // The pod was told of, or told differently; its record is up to date. `node_lost`: its Node is.
  void Update(uint32_t pod, bool node_lost, BootTime observed);
  // Before the pod's workload or revision changes; Update follows.
  void Uncount(uint32_t pod);
  // `synced`: whether what is alive is fully known.
  void SetSynced(bool synced);
  // Decides what time alone decides, up to `now`.
  void Settle(BootTime now);
  void Forget(uint32_t pod);

  // What was decided, and from what that is forgotten by now (lifecycle_remnants.cc).
  void ExportRemnants(const std::function<void(LifecycleRemnant)>& sink) const;
  void Restore(const DepartureRemnants& remnants);
  void Restore(const ChangeRemnant& remnant);

  const WorkloadChange* ChangeOf(uint32_t pod) const;
  std::vector<const WorkloadChange*> Changes() const;  // oldest first

 private:
  struct Revision {
    uint32_t id = 0;  // interned; held by the pods that are alive
    uint32_t alive = 0;
    WallSecond newest_created;
    BootTime newest_told;
  };
  struct Entry {
    WorkloadChange change;
    WallSecond first;  // of its departing pods
    WallSecond last;
  };
  struct Family {                     // one workload
    std::vector<Revision> revisions;  // with pods alive
    std::vector<uint32_t> changes;    // ids, in the order in which they began
    uint32_t waiting = 0;
  };
  struct Waiting {
    uint32_t pod;
    BootTime told;
  };

  void Arrive(uint32_t pod);
  void Leave(uint32_t pod, bool node_lost, BootTime observed);
  // Whether `slot` is the successor of `gone` in the place that their workload's pods keep.
  bool TakesPlaceOf(uint32_t slot, uint32_t gone) const;
  // Another revision that is alive, the newest; null: none.
  const Revision* Successor(const Family& family, uint32_t revision) const;
  bool SettleBySuccessor(uint32_t pod);
  void Join(uint32_t pod, Departure departure, const std::string& to_revision, BootTime told);
  void Name(Entry& entry) const;
  Family& FamilyOf(uint32_t pod) { return families_[pods_.Workload(pod)]; }

  PodIndex& pods_;
  const TimeRules& rules_;
  bool synced_ = false;
  absl::flat_hash_map<WorkloadRef, Family> families_;
  std::deque<Waiting> waiting_;        // by `told`
  std::map<uint32_t, Entry> entries_;  // by id; a map: entries never move
  uint32_t last_id_ = 0;
};

}  // namespace phantomd
