// Lifecycle remembers which pod held which address and when, which of them were in service and
// when, and why pods went away. It is told dated changes and asked about instants.
//
// Every fact from the API is known only between two bounds, widened by feed_delay (how old news may
// be when it arrives), clock_error (node clocks) and the 1 s grain of API times. Two clocks run per
// pod: *dead* (the tenancy's end: none of its containers runs any more, or it lost the address) and
// *withdrawn* (no slice of a Service that listed it has it ready any more, or its deletion was
// requested). Example, feed_delay 2 s: a slice drops the address, received at 100 s: withdrawn in
// [98 s, 100 s]. DELETED with finished containers, received at 107 s, finishedAt 105 s (wall,
// truncated): released in [104.5 s, 106.5 s].
//
// Changes must be applied in the order of `observed`. Thread-compatible. Never reads a clock.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/lifecycle/address_facts.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/departure.h"
#include "agent/lifecycle/remnants.h"

namespace phantomd {

// Whether a pod belongs to the Service that a proxy meant.
enum class Meaning {
  kNoOpinion = 0,  // no such Service known, or it has no slices, or the slice feed was broken
  kMeant = 1,      // a slice of the Service listed the pod at some time
  kNotMeant = 2,   // the Service has slices, none ever listed it, nor another pod of its workload
};

// The addresses whose facts a change altered: the engine looks again at what waits for them.
using TouchedAddresses = absl::InlinedVector<IpAddr, 2>;

class Lifecycle {
 public:
  struct Options {
    Nanos feed_delay{0};
    Nanos typical_delay{0};
    Nanos clock_error{0};
    bool all_pods = true;   // false: pod_scope=endpointslices, only the own node's pods are watched
    std::string node_name;  // the agent's own node
    std::vector<IpPrefix> pod_ranges;  // --pod_cidrs; Nodes' podCIDRs are added as they are told
  };

  Lifecycle(Options options, WallOffset offset);
  ~Lifecycle();

  TouchedAddresses Apply(const PodChange& change, BootTime observed);
  TouchedAddresses Apply(const SliceChange& change, BootTime observed);
  TouchedAddresses Apply(const NodeChange& change, BootTime observed);
  TouchedAddresses Apply(const PodEnd& end, BootTime observed);
  void Apply(const FeedChange& change, BootTime observed);
  void SetWallOffset(WallOffset offset);
  WallOffset wall_offset() const;

  // Forgets what ended before `horizon`: instants before it are BEFORE_HORIZON from now on, never
  // "dead". A deleted pod whose end has no upper bound goes once its deletion lies before it.
  void Compact(BootTime horizon);
  BootTime horizon()
      const;  // the earliest instant that is answered: first sync, or the last Compact

  // --- What was true at t, as known now ---
  AddressFacts At(const IpAddr& ip, BootTime t) const;
  Meaning MeaningOf(std::string_view service, PodHandle pod) const;  // service: "namespace/name"
  bool ServiceKnown(std::string_view service) const;  // a slice of it was ever listed here

  // --- What people ask ---
  const PodRef* Pod(PodHandle pod) const;  // null: forgotten or none
  // The Node it is bound to, without composing its other names; empty: forgotten or none.
  std::string_view NodeOf(PodHandle pod) const;
  PodHandle FindPod(const PodUid& uid) const;
  // Every tenancy of an address that is still remembered, newest first.
  std::vector<TenancyFacts> Tenancies(const IpAddr& ip) const;
  // The pod's last withdrawal; not_after Max: in service, or never was.
  TimeBounds WithdrawnBounds(PodHandle pod) const;
  absl::InlinedVector<IpAddr, 2> AddressesOf(PodHandle pod) const;
  // Dead; not_after Max: not known, and for a pod deleted while it ran (by force, or unseen in a
  // gap) never known: whoever waits for it needs another reason to stop.
  TimeBounds ReleasedBounds(PodHandle pod) const;
  // The latest end at which the pod surely is dead: not_after of ReleasedBounds.

  // The change that takes or took this pod away; null while it stays, or when its departure is not
  // settled yet.
  const WorkloadChange* ChangeOf(PodHandle pod, BootTime now) const;
  // All changes that are remembered, oldest first.
  std::vector<const WorkloadChange*> Changes(BootTime now) const;
  Departure DepartureOf(PodHandle pod, BootTime now) const;

  // Addresses whose latest holder is withdrawn or dead at `now` (and not held or in service again):
  // what a proxy should no longer believe in.
  std::vector<IpAddr> StaleAddresses(BootTime now) const;
  bool IsStale(const IpAddr& ip, BootTime now) const;

  // --- The feeds ---
  struct FeedFacts {
    bool ever_synced = false;
    bool synced = false;
    BootTime good_until;  // with a broken feed: news is complete up to here
    BootTime last_change;
    uint64_t relists = 0;
  };
  FeedFacts feed(Feed feed) const;

  size_t pods() const;  // live pods indexed
  size_t tombstones() const;

  // Everything known, as the changes that a new Lifecycle must be told to answer the same, each
  // with the instant at which it was first observed, in that order.
  using ExportSink = std::function<void(
      BootTime observed,
      std::variant<PodChange, SliceChange, NodeChange, PodEnd, FeedChange> change)>;
  void Export(const ExportSink& sink) const;
  // What no change tells: to be taken over, in this order, once the changes were told and what is
  // older than the same horizon is forgotten.
  void ExportRemnants(const std::function<void(LifecycleRemnant)>& sink) const;
  void Restore(const LifecycleRemnant& remnant);

 private:
  class Impl;  // pod_index, ip_timeline, service_index, node_index, feed_log and departures live in
               // files of their own
  std::unique_ptr<Impl> impl_;
};

}  // namespace phantomd
