#include "agent/engine/mesh_cluster_name.h"

namespace phantomd {
namespace {

// Enough to outvote any overlap of pod ranges; after that the name stands.
constexpr uint64_t kEnoughVotes = 1000;

}  // namespace

void MeshClusterName::Learn(const BeliefSnapshot& snapshot, const Lifecycle& lifecycle) {
  if (total_ >= kEnoughVotes) return;
  for (const BeliefSnapshot::Cluster& cluster : snapshot.clusters) {
    for (const BeliefSnapshot::Endpoint& endpoint : cluster.endpoints) {
      if (endpoint.mesh_cluster.empty()) continue;
      if (!lifecycle.At(endpoint.address.ip, snapshot.received).ever_held) continue;
      const uint64_t votes = ++votes_[endpoint.mesh_cluster];
      ++total_;
      if (name_.empty() || votes > votes_[name_]) name_ = endpoint.mesh_cluster;
    }
  }
}

void MeshClusterName::Restore(const Votes& votes, const std::string& name) {
  votes_ = votes;
  name_ = name;
  total_ = 0;
  for (const auto& [cluster, count] : votes) total_ += count;
}

}  // namespace phantomd
