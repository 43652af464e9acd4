// The join of host sets, dump and update times, poll after poll.
#include "agent/envoy/belief_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "agent/envoy/endpoint_address.h"

namespace phantomd {
namespace {

using Need = BeliefBuilder::Need;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const SocketAddr kA = {IpAddr::V4(10, 0, 0, 1), 8080};
const SocketAddr kB = {IpAddr::V4(10, 0, 0, 2), 8080};
const SocketAddr kC = {IpAddr::V4(10, 0, 0, 3), 8080};

// The fixture's tongue: Hosts("c", {kA, kB}) is what /clusters says, Dump the same for the dump.
class BeliefBuilderTest : public ::testing::Test {
 protected:
  static HostSets::Cluster Hosts(std::string name, const std::vector<SocketAddr>& addresses) {
    HostSets::Cluster cluster;
    cluster.name = std::move(name);
    for (const SocketAddr& address : addresses) cluster.hosts.emplace_back().address = address;
    return cluster;
  }
  static EndpointAssignment Assigned(std::string name, const std::vector<SocketAddr>& addresses) {
    EndpointAssignment assignment;
    assignment.cluster_name = std::move(name);
    for (const SocketAddr& address : addresses) {
      AssignedEndpoint& endpoint = assignment.endpoints.emplace_back();
      endpoint.address = address;
      endpoint.workload = "shop/w" + address.ToString();
    }
    return assignment;
  }
  static ConfigDump Dump(const std::vector<EndpointAssignment>& assignments) {
    ConfigDump dump;
    for (const EndpointAssignment& assignment : assignments) {
      ClusterConfig& cluster = dump.clusters.emplace_back();
      cluster.name = assignment.cluster_name;
      cluster.service = "shop/catalog";
      cluster.discovery = Discovery::kEds;
      cluster.layer = Layer::kL4;
    }
    dump.assignments = assignments;
    return dump;
  }
  BeliefSnapshot Poll(const HostSets& sets, const UpdateTimes& times = {}) {
    ++polls_;
    const BootTime at = BootTime::FromNanos(polls_ * 1'000'000'000);
    return builder_.Build(sets, times, {at, at + Nanos(5), Wall(polls_ * 1000)});
  }
  static WallTime Wall(int64_t millis) {
    return WallTime::FromNanos(1'700'000'000'000'000'000 + millis * 1'000'000);
  }
  static std::vector<SocketAddr> Addresses(const BeliefSnapshot::Cluster& cluster) {
    std::vector<SocketAddr> out;
    for (const auto& endpoint : cluster.endpoints) out.push_back(endpoint.address);
    return out;
  }

  BeliefBuilder builder_{ProxyId("p")};
  int64_t polls_ = 0;
};

TEST_F(BeliefBuilderTest, FirstSnapshotIsCompleteAndJoinsBothViews) {
  HostSets sets{{Hosts("c", {kB, kA})}};
  sets.clusters[0].hosts[1].connects = 7;
  sets.clusters[0].hosts[1].connect_failures = 2;
  sets.clusters[0].hosts[1].failed_outlier_check = true;
  EXPECT_EQ(builder_.NeedFor(sets), Need::kWholeDump);
  builder_.TakeWholeDump(Dump({Assigned("c", {kA, kB})}));
  EXPECT_EQ(builder_.NeedFor(sets), Need::kNothing);
  const BeliefSnapshot snapshot = Poll(sets);
  EXPECT_TRUE(snapshot.complete);
  EXPECT_EQ(snapshot.proxy_id, ProxyId("p"));
  EXPECT_EQ(snapshot.received - snapshot.requested, Nanos(5));
  ASSERT_EQ(snapshot.clusters.size(), 1u);
  const BeliefSnapshot::Cluster& cluster = snapshot.clusters[0];
  EXPECT_EQ(cluster.service, "shop/catalog");
  EXPECT_EQ(cluster.discovery, Discovery::kEds);
  EXPECT_EQ(cluster.layer, Layer::kL4);
  ASSERT_THAT(Addresses(cluster), ElementsAre(kA, kB));
  const BeliefSnapshot::Endpoint& a = cluster.endpoints[0];
  EXPECT_TRUE(a.in_assignment);
  EXPECT_TRUE(a.in_host_set);
  EXPECT_TRUE(a.failed_outlier_check);
  EXPECT_EQ(a.connects, 7u);
  EXPECT_EQ(a.connect_failures, 2u);
  EXPECT_EQ(a.workload, "shop/w10.0.0.1:8080");
  EXPECT_FALSE(builder_.views_differed());
}

TEST_F(BeliefBuilderTest, OnlyChangedClustersFollow) {
  HostSets sets{{Hosts("c", {kA}), Hosts("d", {kB}), Hosts("e", {})}};
  builder_.TakeWholeDump(Dump({Assigned("c", {kA}), Assigned("d", {kB}), Assigned("e", {})}));
  Poll(sets);
  BeliefSnapshot snapshot = Poll(sets);
  EXPECT_FALSE(snapshot.complete);
  EXPECT_THAT(snapshot.clusters, IsEmpty());

  sets.clusters[1].hosts[0].connects = 1;
  snapshot = Poll(sets);
  ASSERT_EQ(snapshot.clusters.size(), 1u) << "a count changed";
  EXPECT_EQ(snapshot.clusters[0].name, "d");

  sets.clusters[0].hosts.clear();
  EXPECT_EQ(builder_.NeedFor(sets), Need::kNothing) << "hosts only left";
  snapshot = Poll(sets);
  ASSERT_EQ(snapshot.clusters.size(), 1u);
  EXPECT_EQ(snapshot.clusters[0].name, "c");
  EXPECT_THAT(snapshot.clusters[0].endpoints, IsEmpty());

  std::swap(sets.clusters[0], sets.clusters[2]);
  EXPECT_THAT(Poll(sets).clusters, IsEmpty()) << "order says nothing";
}

TEST_F(BeliefBuilderTest, RemovedClusterIsNamedOnce) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA}), Assigned("d", {kB})}));
  Poll({{Hosts("c", {kA}), Hosts("d", {kB})}});
  EXPECT_THAT(Poll({{Hosts("c", {kA})}}).removed_clusters, ElementsAre("d"));
  EXPECT_THAT(Poll({{Hosts("c", {kA})}}).removed_clusters, IsEmpty());
  EXPECT_EQ(builder_.NeedFor({{Hosts("d", {kB})}}), Need::kWholeDump)
      << "it may come back as another";
}

TEST_F(BeliefBuilderTest, NewHostNeedsTheAssignmentsAndNewClusterTheWholeDump) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA})}));
  Poll({{Hosts("c", {kA})}});
  const HostSets grown{{Hosts("c", {kA, kC})}};
  EXPECT_EQ(builder_.NeedFor(grown), Need::kAssignments);
  builder_.TakeAssignments({Assigned("c", {kA, kC})});
  const BeliefSnapshot snapshot = Poll(grown);
  ASSERT_EQ(snapshot.clusters.size(), 1u);
  EXPECT_EQ(snapshot.clusters[0].service, "shop/catalog") << "the cluster is known from before";
  EXPECT_EQ(snapshot.clusters[0].endpoints[1].workload, "shop/w10.0.0.3:8080");
  EXPECT_EQ(builder_.NeedFor({{Hosts("c", {kA}), Hosts("x", {})}}), Need::kWholeDump);
}

TEST_F(BeliefBuilderTest, HostThatComesBackIsAnotherHost) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA, kB})}));
  Poll({{Hosts("c", {kA, kB})}});
  Poll({{Hosts("c", {kA})}});
  EXPECT_EQ(builder_.NeedFor({{Hosts("c", {kA, kB})}}), Need::kAssignments);
}

TEST_F(BeliefBuilderTest, HeldHostIsInTheHostSetOnly) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA, kB})}));
  HostSets sets{{Hosts("c", {kA, kB})}};
  Poll(sets);
  sets.clusters[0].hosts[0].pending_removal = true;
  EXPECT_EQ(builder_.NeedFor(sets), Need::kNothing);
  const BeliefSnapshot snapshot = Poll(sets);
  ASSERT_EQ(snapshot.clusters.size(), 1u);
  const BeliefSnapshot::Endpoint& held = snapshot.clusters[0].endpoints[0];
  EXPECT_TRUE(held.in_host_set);
  EXPECT_TRUE(held.pending_removal);
  EXPECT_FALSE(held.in_assignment) << "though the dump goes on listing it";
}

TEST_F(BeliefBuilderTest, HostThatTheDumpLacksIsInNoAssignmentAndIsNotAskedForAgain) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA})}));
  const HostSets sets{{Hosts("c", {kA, kB})}};
  EXPECT_EQ(builder_.NeedFor(sets), Need::kAssignments);
  builder_.TakeAssignments({Assigned("c", {kA})});
  const BeliefSnapshot snapshot = Poll(sets);
  EXPECT_FALSE(snapshot.clusters[0].endpoints[1].in_assignment);
  EXPECT_TRUE(snapshot.clusters[0].endpoints[1].in_host_set);
  EXPECT_EQ(builder_.NeedFor(sets), Need::kNothing);
}

TEST_F(BeliefBuilderTest, DumpAheadOfTheHostSetsAsksForAnotherPoll) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA, kB})}));
  const BeliefSnapshot snapshot = Poll({{Hosts("c", {kA})}});
  EXPECT_THAT(Addresses(snapshot.clusters[0]), ElementsAre(kA)) << "only what the bracket covers";
  EXPECT_TRUE(builder_.views_differed());
  Poll({{Hosts("c", {kA})}});
  EXPECT_FALSE(builder_.views_differed()) << "once";
}

TEST_F(BeliefBuilderTest, ClustersThatShareAnEdsServiceNameShareItsAssignment) {
  ConfigDump dump = Dump({Assigned("shared", {kA})});
  dump.assignments.push_back(Assigned("shared", {kA}));
  dump.clusters[0].name = "one";
  dump.clusters[0].eds_service_name = "shared";
  dump.clusters.push_back(dump.clusters[0]);
  dump.clusters[1].name = "two";
  builder_.TakeWholeDump(dump);
  const HostSets sets{{Hosts("one", {kA}), Hosts("two", {kA})}};
  EXPECT_EQ(builder_.NeedFor(sets), Need::kNothing);
  const BeliefSnapshot snapshot = Poll(sets);
  ASSERT_EQ(snapshot.clusters.size(), 2u);
  EXPECT_TRUE(snapshot.clusters[0].endpoints[0].in_assignment);
  EXPECT_TRUE(snapshot.clusters[1].endpoints[0].in_assignment);
}

TEST_F(BeliefBuilderTest, AfterAFailedPollTheBeliefIsToldWhole) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA}), Assigned("d", {kB})}));
  const HostSets sets{{Hosts("c", {kA}), Hosts("d", {kB})}};
  Poll(sets);
  builder_.Forget();
  const BeliefSnapshot snapshot = Poll(sets);
  EXPECT_TRUE(snapshot.complete);
  EXPECT_EQ(snapshot.clusters.size(), 2u);
  EXPECT_FALSE(Poll(sets).complete);
}

TEST_F(BeliefBuilderTest, LayerOfALaterDumpIsAChange) {
  ConfigDump dump = Dump({Assigned("c", {kA})});
  builder_.TakeWholeDump(dump);
  const HostSets sets{{Hosts("c", {kA})}};
  Poll(sets);
  dump.clusters[0].layer = Layer::kMixed;
  builder_.TakeWholeDump(dump);
  const BeliefSnapshot snapshot = Poll(sets);
  ASSERT_EQ(snapshot.clusters.size(), 1u);
  EXPECT_EQ(snapshot.clusters[0].layer, Layer::kMixed);
}

TEST_F(BeliefBuilderTest, TunnelIsIndexedByThePortThatTheKernelSees) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA})}));
  HostSets sets{{Hosts("c", {kA})}};
  sets.clusters[0].hosts[0].tunnelled = true;
  sets.clusters[0].hosts[0].connects = 9;
  const BeliefSnapshot snapshot = Poll(sets);
  ASSERT_EQ(snapshot.clusters[0].endpoints.size(), 2u);
  const BeliefSnapshot::Endpoint& tunnel = snapshot.clusters[0].endpoints[1];
  EXPECT_EQ(tunnel.address, (SocketAddr{kA.ip, kHbonePort}));
  EXPECT_TRUE(tunnel.in_assignment);
  EXPECT_EQ(tunnel.connects, 0u) << "the count is of the inner connections";
}

TEST_F(BeliefBuilderTest, FurtherAddressesOfAHostAreBelievedToo) {
  ConfigDump dump = Dump({Assigned("c", {kA})});
  dump.assignments[0].endpoints[0].additional = {kC};
  builder_.TakeWholeDump(dump);
  const BeliefSnapshot snapshot = Poll({{Hosts("c", {kA})}});
  EXPECT_THAT(Addresses(snapshot.clusters[0]), ElementsAre(kA, kC));
  EXPECT_TRUE(snapshot.clusters[0].endpoints[1].in_host_set);
}

TEST_F(BeliefBuilderTest, OneAddressTwiceIsOneEndpointWithTheSumOfItsCounts) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA})}));
  HostSets sets{{Hosts("c", {kA, kA})}};
  sets.clusters[0].hosts[0].connects = 1;
  sets.clusters[0].hosts[1].connects = 2;
  sets.clusters[0].hosts[1].pending_removal = true;
  const BeliefSnapshot snapshot = Poll(sets);
  ASSERT_EQ(snapshot.clusters[0].endpoints.size(), 1u);
  EXPECT_EQ(snapshot.clusters[0].endpoints[0].connects, 3u);
  EXPECT_TRUE(snapshot.clusters[0].endpoints[0].in_assignment);
  EXPECT_FALSE(snapshot.clusters[0].endpoints[0].pending_removal);
}

TEST_F(BeliefBuilderTest, UpdateTimeDatesAChangeAndNothingElse) {
  builder_.TakeWholeDump(Dump({Assigned("c", {kA, kB})}));
  HostSets sets{{Hosts("c", {kA, kB})}};
  EXPECT_TRUE(builder_.HostsChanged(sets));
  EXPECT_EQ(Poll(sets, {{"c", Wall(400)}}).clusters[0].updated, Wall(400));
  EXPECT_FALSE(builder_.HostsChanged(sets));
  // An unchanged update moves the statistic, but dates nothing.
  EXPECT_THAT(Poll(sets, {{"c", Wall(1500)}}).clusters, IsEmpty());
  sets.clusters[0].hosts.pop_back();
  EXPECT_TRUE(builder_.HostsChanged(sets));
  // Newer than the snapshot's own receipt (poll 3: 3000 ms): it belongs to a later belief.
  EXPECT_EQ(Poll(sets, {{"c", Wall(3001)}}).clusters[0].updated, Wall(400));
  sets.clusters[0].hosts.clear();
  EXPECT_EQ(Poll(sets, {{"c", Wall(3999)}}).clusters[0].updated, Wall(3999));
  EXPECT_EQ(Poll(sets).clusters.size(), 0u);
}

}  // namespace
}  // namespace phantomd
