#include "agent/engine/mesh_cluster_name.h"

#include <gtest/gtest.h>

#include "tests/testing/scene.h"

namespace phantomd {
namespace {

using testing::Ip;
using testing::Seconds;

BeliefSnapshot Listing(const std::vector<std::pair<const char*, const char*>>& endpoints) {
  BeliefSnapshot snapshot;
  snapshot.received = Seconds(10);
  BeliefSnapshot::Cluster& cluster = snapshot.clusters.emplace_back();
  for (const auto& [ip, mesh_cluster] : endpoints) {
    cluster.endpoints.push_back({.address = {Ip(ip), 80}, .mesh_cluster = mesh_cluster});
  }
  return snapshot;
}

TEST(MeshClusterNameTest, OursIsTheOneThatMostKnownPodsBelongTo) {
  Lifecycle lifecycle({}, WallOffset());
  for (const char* ip : {"10.0.0.1", "10.0.0.2", "10.0.0.3"}) {
    PodChange pod;
    pod.pod.uid = PodUid(ip);
    pod.ips = {Ip(ip)};
    pod.phase = PodPhase::kRunning;
    lifecycle.Apply(pod, Seconds(1));
  }
  MeshClusterName name;
  name.Learn(Listing({{"10.9.0.1", "east"}, {"10.9.0.2", "east"}}), lifecycle);
  EXPECT_EQ(name.name(), "") << "no endpoint of it is a pod that we know";
  name.Learn(Listing({{"10.0.0.1", "east"}}), lifecycle);
  EXPECT_EQ(name.name(), "east") << "ranges overlap by chance";
  name.Learn(Listing({{"10.0.0.2", "west"}, {"10.0.0.3", "west"}}), lifecycle);
  EXPECT_EQ(name.name(), "west");
}

}  // namespace
}  // namespace phantomd
