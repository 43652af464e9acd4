// BeliefBuilder joins what one proxy's admin API said into BeliefSnapshots.
//
// /clusters tells the host sets, their flags and counts, and is asked at every poll. The config
// dump tells each cluster's discovery, Service and layer, and each endpoint's workload; it is far
// dearer and needed only when /clusters shows a cluster or host that the last dump lacks. When
// hosts only leave, or change flags, no dump is needed: Envoy builds the dump's assignments from
// these same host sets, so a host that has left them is in no assignment either.
//
// in_assignment: the dump listed the host and /clusters does not mark it as pending removal.
//
// The first snapshot, and the one after Forget(), is complete; the others hold the clusters whose
// content changed since. Clusters are sorted by name and endpoints by address: the same answers
// give the same snapshot.
//
// Example, hosts of cluster c: poll 1 {A,B} -> complete {c:{A,B}}; poll 2 {A,B} -> nothing;
// poll 3 {B,C}: C is unknown -> dump, then {c:{B,C}}; poll 4 without c -> removed_clusters {c}.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/belief/snapshot.h"
#include "agent/envoy/config_dump.h"
#include "agent/envoy/host_sets.h"
#include "agent/envoy/update_times.h"

namespace phantomd {

class BeliefBuilder {
 public:
  explicit BeliefBuilder(ProxyId proxy) : proxy_(std::move(proxy)) {}

  // What must be fetched before Build(sets).
  enum class Need { kNothing, kAssignments, kWholeDump };
  Need NeedFor(const HostSets& sets) const;

  void TakeWholeDump(ConfigDump dump);
  void TakeAssignments(const std::vector<EndpointAssignment>& assignments);

  // Whether the host set of any EDS cluster differs from the last snapshot's: only then does
  // update_time date something.
  bool HostsChanged(const HostSets& sets) const;
  const StatNames& stat_names() const { return stat_names_; }

  // The poll's bracket: when /clusters was asked and answered. `wall` is `received` on the wall
  // clock: an update time behind it belongs to a later belief.
  struct Bracket {
    BootTime requested;
    BootTime received;
    WallTime wall;
  };
  BeliefSnapshot Build(const HostSets& sets, const UpdateTimes& times, const Bracket& bracket);
  // The last Build() came right after a dump that listed hosts which /clusters did not: one of the
  // two changed in between, and another poll will tell more.
  bool views_differed() const { return views_differed_; }

  // A poll failed: the next snapshot is complete.
  void Forget();

 private:
  struct Assigned {
    bool listed = true;  // false: the dump that was fetched for it lacked it
    std::string workload;
    std::string mesh_cluster;
    std::vector<SocketAddr> additional;
    uint64_t seen_in = 0;  // the Build() that last met it in a host set
  };
  using Assignment = absl::flat_hash_map<SocketAddr, Assigned>;

  struct Known {
    ClusterConfig config;
    bool configured = false;  // the last whole dump had it
    bool reported = false;    // the last snapshot's belief contains it
    uint64_t hosts = 0;       // hash of addresses and pending removals
    uint64_t content = 0;     // hash of everything in the snapshot
    WallTime updated;
    uint64_t seen_in = 0;
  };

  const std::string& AssignmentName(const HostSets::Cluster& cluster) const;
  BeliefSnapshot::Cluster Join(const HostSets::Cluster& cluster, const Known& known);
  void DropUnseen(BeliefSnapshot& snapshot);

  const ProxyId proxy_;
  absl::flat_hash_map<std::string, Known> clusters_;
  absl::flat_hash_map<std::string, Assignment> assignments_;  // by EDS service name
  StatNames stat_names_;
  uint64_t builds_ = 0;
  bool complete_next_ = true;
  bool dump_is_fresh_ = false;
  bool views_differed_ = false;
};

}  // namespace phantomd
