// MeshClusterName learns what the mesh calls the cluster that this agent watches.
//
// In a mesh of several clusters, endpoint metadata names the cluster of each. The one whose
// endpoints are pods that the lifecycle knows is ours: the majority decides, because pod ranges may
// overlap. Thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "agent/belief/snapshot.h"
#include "agent/lifecycle/lifecycle.h"

namespace phantomd {

class MeshClusterName {
 public:
  void Learn(const BeliefSnapshot& snapshot, const Lifecycle& lifecycle);
  std::string_view name() const { return name_; }  // empty: not known

  using Votes = std::map<std::string, uint64_t>;
  const Votes& votes() const { return votes_; }
  void Restore(const Votes& votes, const std::string& name);

 private:
  Votes votes_;
  uint64_t total_ = 0;
  std::string name_;
};

}  // namespace phantomd
