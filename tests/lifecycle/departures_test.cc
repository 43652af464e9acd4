// Why pods went away, and the named changes that took them.
#include <gtest/gtest.h>

#include "tests/lifecycle/story.h"

namespace phantomd::testing {
namespace {

// Second 100 of the story: 1970-01-01T00:01:40Z.
constexpr std::string_view kThreePods =
    "@10 sync\n"
    "@20 pod a1 ip=10.0.0.1 created=15\n"
    "@20 pod a2 ip=10.0.0.2 created=15\n"
    "@20 pod a3 ip=10.0.0.3 created=15\n";

TEST(DeparturesTest, RollingUpdateIsOneChangeNamedByItsFirstRequest) {
  Story story(kThreePods);
  story.Tell(
      "@99 pod b1 ip=10.0.0.4 created=98 rev=r2\n"
      "@100.2 pod a1 del=100\n"
      "@110 pod b2 ip=10.0.0.5 created=109 rev=r2\n"
      "@111 pod a2 del=111\n"
      "@140 pod b3 ip=10.0.0.6 created=139 rev=r2\n"
      "@141 pod a3 del=141\n");
  EXPECT_EQ(story.Change("a3", 150), "shop/Deployment/catalog/r2/19700101T000140Z: a1 a2 a3");
  EXPECT_EQ(story.Change("b1", 150), "none") << "it stays";
  const WorkloadChange* change = story.lifecycle().ChangeOf(story.Pod("a1"), At(150));
  EXPECT_EQ(change->departure, Departure::kRollout);
  EXPECT_EQ(change->from_revision, "r1");
  EXPECT_EQ(change->to_revision, "r2");
  EXPECT_EQ(change->workload, (WorkloadRef{"shop", "Deployment", "catalog"}));
  EXPECT_FALSE(change->superseded.is_set());
  EXPECT_EQ(change->started, At(100.1)) << "the request, 100 ms before it was told";
}

TEST(DeparturesTest, OverlappingRolloutSupersedesTheFirst) {
  Story story(kThreePods);
  story.Tell(
      "@99 pod b1 ip=10.0.0.4 created=98 rev=r2\n@100.2 pod a1 del=100\n"
      "@105 pod c1 ip=10.0.0.5 created=104 rev=r3\n@106.2 pod b1 del=106\n@107 pod a2 del=107\n");
  EXPECT_EQ(story.Change("a1", 150), "shop/Deployment/catalog/r2/19700101T000140Z: a1");
  EXPECT_EQ(story.Change("a2", 150), "shop/Deployment/catalog/r3/19700101T000146Z: b1 a2");
  EXPECT_EQ(story.lifecycle().ChangeOf(story.Pod("a1"), At(150))->superseded, At(106.1));
  const auto changes = story.lifecycle().Changes(At(150));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0]->to_revision, "r2");
}

TEST(DeparturesTest, RollbackInMidRolloutHasTheRevisionStillAliveForTarget) {
  Story story(kThreePods);
  story.Tell(
      "@99 pod b1 ip=10.0.0.4 created=98 rev=r2\n@100.2 pod a1 del=100\n@120.2 pod b1 del=120\n");
  EXPECT_EQ(story.Change("b1", 150), "shop/Deployment/catalog/r1/19700101T000200Z: b1");
}

TEST(DeparturesTest, DeparturesMoreThanAMinuteApartAreTwoChanges) {
  Story story(kThreePods);
  story.Tell(
      "@99 pod b1 ip=10.0.0.4 created=98 rev=r2\n"
      "@100.2 pod a1 del=100\n@160.2 pod a2 del=160\n@221.2 pod a3 del=221\n");
  EXPECT_EQ(story.Change("a2", 300), "shop/Deployment/catalog/r2/19700101T000140Z: a1 a2");
  EXPECT_EQ(story.Change("a3", 300), "shop/Deployment/catalog/r2/19700101T000341Z: a3");
}

TEST(DeparturesTest, StatefulSetIsSettledWhenItsSuccessorAppears) {
  Story story(
      "@10 sync\n"
      "@20 pod w1 ip=10.0.0.1 created=15 wl=StatefulSet/db\n"
      "@20 pod w2 ip=10.0.0.2 created=15 wl=StatefulSet/db\n"
      "@100.2 pod w2 del=100\n@103 pod w2 deleted\n");
  EXPECT_EQ(story.Change("w2", 104), "none") << "not settled yet";
  story.Tell("@105 pod w2b noip created=104 wl=StatefulSet/db rev=r2\n");
  EXPECT_EQ(story.Change("w2", 106), "shop/StatefulSet/db/r2/19700101T000140Z: w2");
  EXPECT_EQ(story.lifecycle().DepartureOf(story.Pod("w2"), At(106)), Departure::kRollout);
}

// Overlapping rollouts: when db-0 went, r2 was alive already, but its successor is of r3.
TEST(DeparturesTest, WhoTakesThePlaceOfAStatefulSetPodDecidesWhatReplacedIt) {
  Story story(
      "@10 sync\n"
      "@20 pod w0 name=db-0 ip=10.0.0.1 created=15 wl=StatefulSet/db\n"
      "@20 pod w1 name=db-1 ip=10.0.0.2 created=15 wl=StatefulSet/db\n"
      "@100.2 pod w1 del=100\n@103 pod w1 deleted\n"
      "@105 pod w3 name=db-1 noip created=104 wl=StatefulSet/db rev=r2\n"
      "@110.2 pod w0 del=110\n@112 pod w0 deleted\n");
  EXPECT_EQ(story.Change("w1", 113), "shop/StatefulSet/db/r2/19700101T000140Z: db-1");
  EXPECT_EQ(story.Change("w0", 113), "none") << "its place is empty";
  story.Tell("@115 pod w4 name=db-0 noip created=114 wl=StatefulSet/db rev=r3\n");
  EXPECT_EQ(story.Change("w0", 116), "shop/StatefulSet/db/r3/19700101T000150Z: db-0");
}

TEST(DeparturesTest, PlaceThatStaysEmptyGoesByTheRevisionsAlive) {
  Story story(
      "@10 sync\n"
      "@20 pod w0 name=db-0 ip=10.0.0.1 created=15 wl=StatefulSet/db\n"
      "@21 pod w1 name=db-1 ip=10.0.0.2 created=16 wl=StatefulSet/db rev=r2\n"
      "@110.2 pod w0 del=110\n");
  EXPECT_EQ(story.Change("w0", 170.1), "none");
  EXPECT_EQ(story.Change("w0", 170.3), "shop/StatefulSet/db/r2/19700101T000150Z: db-0");
}

TEST(DeparturesTest, ReplacedByItsOwnRevisionItWasDeleted) {
  Story story(kThreePods);
  story.Tell("@100.2 pod a1 del=100\n@101 pod a4 noip created=100\n");
  EXPECT_EQ(story.Change("a1", 102), "shop/Deployment/catalog/r1/deleted-19700101T000140Z: a1");
}

TEST(DeparturesTest, ReplacementMakesUpForTheNewestLoss) {
  Story story(kThreePods);
  story.Tell("@100.2 pod a1 del=100\n@120.2 pod a2 del=120\n@121 pod a4 noip created=120\n");
  EXPECT_EQ(story.Change("a2", 122), "shop/Deployment/catalog/r1/deleted-19700101T000200Z: a2");
  story.Tell("@123 pod a4 ip=10.0.0.4\n");  // the same pod, with an address: it replaced one
  EXPECT_EQ(story.Change("a1", 161), "shop/Deployment/catalog/r1/scale-down-19700101T000140Z: a1");
}

TEST(DeparturesTest, NotReplacedWithinAMinuteItsRevisionShrank) {
  Story story(kThreePods);
  story.Tell("@100.2 pod a1 del=100\n@101 pod a2 del=101\n");
  EXPECT_EQ(story.Change("a1", 160.1), "none");
  EXPECT_EQ(story.lifecycle().DepartureOf(story.Pod("a1"), At(160.1)), Departure::kUnspecified);
  EXPECT_EQ(story.Change("a1", 160.2),
            "shop/Deployment/catalog/r1/scale-down-19700101T000140Z: a1");
  EXPECT_EQ(story.Change("a2", 170),
            "shop/Deployment/catalog/r1/scale-down-19700101T000140Z: a1 a2");
}

TEST(DeparturesTest, LateReplacementComesTooLate) {
  Story story(kThreePods);
  story.Tell("@100.2 pod a1 del=100\n@161 pod a4 noip created=160 rev=r2\n");
  EXPECT_EQ(story.Change("a1", 170), "shop/Deployment/catalog/r1/scale-down-19700101T000140Z: a1")
      << "decided by the minute, not by who asks when";
}

TEST(DeparturesTest, EvictedByTheKubelet) {
  Story story(kThreePods);
  story.Tell("@100.4 pod a1 fin=100 phase=Failed reason=Evicted\n@101 pod a4 noip created=100\n");
  EXPECT_EQ(story.Change("a1", 102), "shop/Deployment/catalog/r1/eviction-19700101T000140Z: a1");
}

TEST(DeparturesTest, DeletedBecauseItsNodeIsLost) {
  Story story("@5 node n1 ready lease=5\n");
  story.Tell(kThreePods);
  story.Tell("@99 node n1 notready lease=60\n@100.2 pod a1 del=100\n");
  EXPECT_EQ(story.Change("a1", 102), "shop/Deployment/catalog/r1/eviction-19700101T000140Z: a1");
}

TEST(DeparturesTest, WhatCameFirstDecides) {
  Story story("@5 node n1 ready lease=5\n");
  story.Tell(kThreePods);
  story.Tell(
      "@99 pod b1 ip=10.0.0.4 created=98 rev=r2\n@100.2 pod a1 del=100\n"
      "@141 node n1 notready lease=101\n@150 pod a1 phase=Failed reason=NodeLost deleted\n");
  EXPECT_EQ(story.lifecycle().DepartureOf(story.Pod("a1"), At(160)), Departure::kRollout);
}

TEST(DeparturesTest, JobsComplete) {
  Story story("@10 sync\n@20 pod j1 ip=10.0.0.1 created=15 wl=Job/report rev=\n");
  story.Tell("@100.4 pod j1 fin=100 phase=Succeeded\n@500 pod j1 del=500 deleted\n");
  EXPECT_EQ(story.Change("j1", 600), "shop/Job/report/completed-19700101T000140Z: j1");
}

TEST(DeparturesTest, BarePodIsDeleted) {
  Story story(
      "@10 sync\n@20 pod p ip=10.0.0.1 created=15 wl= rev=\n@20 pod q noip created=15 wl= rev=\n");
  story.Tell("@100.2 pod p del=100\n@100.3 pod q del=100\n");
  EXPECT_EQ(story.Change("p", 101), "shop/Pod/p/deleted-19700101T000140Z: p");
  EXPECT_EQ(story.Change("q", 101), "shop/Pod/q/deleted-19700101T000140Z: q");
}

TEST(DeparturesTest, FirstListIsDecidedWhenItIsComplete) {
  // The target is only known once the whole list has been read: r3 comes last, r2 is leaving too.
  Story story(
      "@9 pod a1 ip=10.0.0.1 created=1 del=8\n"
      "@9 pod b1 ip=10.0.0.2 created=2 rev=r2\n"
      "@9 pod c1 ip=10.0.0.3 created=3 rev=r3\n");
  EXPECT_EQ(story.Change("a1", 9), "none");
  story.Tell("@10 sync\n");
  EXPECT_EQ(story.Change("a1", 11), "shop/Deployment/catalog/r3/19700101T000008Z: a1");
}

TEST(DeparturesTest, EarlierRequestToldLaterRenamesTheChange) {
  Story story(kThreePods);
  story.Tell(
      "@99 pod b1 ip=10.0.0.4 created=98 rev=r2\n@105.2 pod a1 del=105\n@106 pod a2 del=100\n");
  EXPECT_EQ(story.Change("a1", 110), "shop/Deployment/catalog/r2/19700101T000140Z: a1 a2");
}

TEST(DeparturesTest, RelabelledPodCountsForItsNewRevision) {
  Story story(kThreePods);
  story.Tell("@50 pod a2 rev=r9\n@51 pod a3 rev=r9\n@100.2 pod a1 del=100\n");
  EXPECT_EQ(story.Change("a1", 110), "shop/Deployment/catalog/r9/19700101T000140Z: a1");
}

}  // namespace
}  // namespace phantomd::testing
