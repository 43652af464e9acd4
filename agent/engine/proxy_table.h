// ProxyTable knows the proxies of this node: what the probe and the admin API told of each, joined
// with its pod as the Kubernetes feed names it, and which proxy a connection came from.
//
// Two edges tell of the same proxy; a change fills in what it names and leaves the rest. The pod's
// name and workload come from the lifecycle as soon as it knows the UID. A proxy that is gone stays
// for a while: its connections are still to be judged. It runs again when the edge that sees its
// processes names some (a container's proxy may be started anew in it); late news of the other
// edge do not revive it. Thread-compatible.
#pragma once

#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/base/nouns.h"
#include "agent/engine/input.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/attempt.h"

namespace phantomd {

class ProxyTable {
 public:
  struct Entry {
    Proxy told;   // as the edges told it
    Proxy named;  // the same, with what the lifecycle knows of its pod
    BootTime first_observed;
    BootTime gone;      // unset: it runs
    BootTime returned;  // when it last ran again after it had been gone; unset: it never was
  };

  // True: it was gone and runs again.
  bool Apply(const ProxyChange& change, BootTime observed, const Lifecycle& lifecycle);
  // News of a pod: a proxy inside it can be named.
  void PodTold(const PodUid& uid, const Lifecycle& lifecycle);
  // The pod of a proxy that the lifecycle has forgotten.
  void Restore(const PodOfProxy& named, const Lifecycle& lifecycle);
  // Forgets the proxies that were gone before `horizon`.
  void Compact(BootTime horizon);

  // Whose connection it is: by its proxy's ID, else by namespace and process. Null: no proxy known.
  struct Origin {
    const Proxy* proxy = nullptr;
    Initiator initiator = Initiator::kUnspecified;
  };
  Origin OriginOf(const Attempt& attempt) const;

  const Entry* Find(const ProxyId& id) const;
  const std::map<ProxyId, Entry>& all() const { return entries_; }
  std::vector<ProxyId> Ids() const;

 private:
  const Proxy* Resolve(const Attempt& attempt, bool& own_process) const;
  void Name(Entry& entry, const Lifecycle& lifecycle);

  std::map<ProxyId, Entry> entries_;
  absl::flat_hash_map<uint64_t, std::vector<ProxyId>> by_netns_;
  absl::flat_hash_map<PodUid, std::vector<ProxyId>> by_pod_;
};

}  // namespace phantomd
