// The phenomena of a rolling update behind a sidecar, end to end through the engine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/scene_run.h"

namespace phantomd::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using enum Outcome;

// `old` serves catalog at 10.0.0.1 and the sidecar of webapp believes in it.
Scene Serving() {
  Scene s;
  s.At(1).Node("node-1", true, "10.0.0.0/24", "192.168.0.1").Proxy("webapp");
  s.Runs({.name = "webapp", .ip = "10.0.0.9", .workload = "webapp"});
  s.Runs({"old", kOld}).Slice("catalog", {"old"}).Synced();
  s.At(2).Polled("webapp", {{"catalog", {kOld}}});
  return s;
}

// `new` takes over; `old` dies at 12 s, but EDS follows only at 20 s.
Scene RollingUpdateWithLateEds() {
  Scene s = Serving();
  s.At(8).Runs({"new", kNew, "catalog", "v2"}).Slice("catalog", {"old", "new"});
  s.At(8.5).Polled("webapp", {{"catalog", {kOld, kNew}}});
  s.At(10).Terminates("old").Slice("catalog", {"new"}, {"old"});
  s.At(12.2).Finishes("old");
  s.At(12.4).Slice("catalog", {"new"}).Deleted("old");
  for (double t = 10.1; t < 20; t += 0.5) s.At(t).Polled("webapp", {{"catalog", {kOld, kNew}}});
  s.At(20).Polled("webapp", {{"catalog", {kNew}}});
  s.At(40).Polled("webapp", {{"catalog", {kNew}}});
  return s;
}

std::string VerdictAt(Scene scene, double syn, const char* ip, Outcome outcome, double seconds,
                      Initiator initiator = Initiator::kProxy) {
  scene.At(syn).Connects("webapp", ip, outcome, seconds, initiator);
  scene.At(200).Add(Edge::kKube, {Seconds(200), ClockChange{scene.header.offset}});
  SceneRun run(scene);
  run.Replay(scene);
  return Summary(run.Of(0));
}

TEST(DemoSceneTest, ASilentDeadAddressInEdsIsAPhantomThatNoHttpLogShows) {
  EXPECT_EQ(VerdictAt(RollingUpdateWithLateEds(), 15, kOld, kAbandoned, 1),
            "DEAD CERTAIN STALE_EDS ABANDONED L4");
}

TEST(DemoSceneTest, BeforeTheUpdateAllIsLive) {
  EXPECT_EQ(VerdictAt(RollingUpdateWithLateEds(), 5, kOld, kEstablished, 0.001),
            "LIVE CERTAIN ESTABLISHED L4");
}

TEST(DemoSceneTest, TerminatingButServingIsWithdrawn) {
  EXPECT_EQ(VerdictAt(RollingUpdateWithLateEds(), 11, kOld, kEstablished, 0.001),
            "WITHDRAWN CERTAIN STALE_EDS ESTABLISHED L4");
}

TEST(DemoSceneTest, ACrashedContainerOfALivePodIsLiveAndRefused) {
  Scene s = Serving();
  s.At(30).Polled("webapp", {{"catalog", {kOld}}});
  EXPECT_EQ(VerdictAt(s, 15, kOld, kRefused, 0.001), "LIVE CERTAIN REFUSED L4");
}

TEST(DemoSceneTest, TheNewPodIsLiveThroughout) {
  EXPECT_EQ(VerdictAt(RollingUpdateWithLateEds(), 15, kNew, kEstablished, 0.001),
            "LIVE CERTAIN ESTABLISHED L4");
}

TEST(DemoSceneTest, DroppedWithinAMinuteIsAfterRemoval) {
  EXPECT_EQ(VerdictAt(RollingUpdateWithLateEds(), 21, kOld, kAbandoned, 1),
            "DEAD CERTAIN AFTER_REMOVAL ABANDONED L4");
}

TEST(DemoSceneTest, AnAddressThatNoClusterListsIsTheClients) {
  Scene s = RollingUpdateWithLateEds();
  s.At(100).Polled("webapp", {{"catalog", {kNew}}});
  s.At(110).Polled("webapp", {{"catalog", {kNew}}});
  EXPECT_EQ(VerdictAt(s, 105, kOld, kAbandoned, 1), "DEAD CERTAIN CLIENT_ADDRESS ABANDONED");
}

TEST(DemoSceneTest, TheApplicationsOwnConnectionIsBypass) {
  EXPECT_EQ(VerdictAt(RollingUpdateWithLateEds(), 15, kOld, kAbandoned, 1, Initiator::kApplication),
            "DEAD CERTAIN BYPASS ABANDONED");
}

TEST(DemoSceneTest, AHostThatTheProxyKeepsIsHeld) {
  Scene s = Serving();
  s.At(10).Terminates("old").Slice("catalog", {}, {"old"});
  s.At(12.2).Finishes("old").Slice("catalog", {}).Deleted("old");
  s.At(13).Polled("webapp", {{"catalog", {}, {kOld}}});
  s.At(30).Polled("webapp", {{"catalog", {}, {kOld}}});
  EXPECT_EQ(VerdictAt(s, 20, kOld, kAbandoned, 1), "DEAD CERTAIN HELD_BY_PROXY ABANDONED L4");
}

TEST(DemoSceneTest, WithoutAnAdminViewTheCauseIsUnknown) {
  Scene s;
  s.At(1).Proxy("webapp").Runs({"old", kOld}).Slice("catalog", {"old"}).Synced();
  s.At(10).Terminates("old").Slice("catalog", {});
  s.At(12.2).Finishes("old").Deleted("old");
  s.At(17).PollFails("webapp", "connection refused");
  EXPECT_EQ(VerdictAt(s, 15, kOld, kAbandoned, 1), "DEAD CERTAIN UNKNOWN_BELIEF ABANDONED");
}

TEST(DemoSceneTest, AServiceAddressIsExternal) {
  // In the block that pods are known in, a range of pods may lie that nobody told.
  EXPECT_EQ(VerdictAt(RollingUpdateWithLateEds(), 15, "10.96.0.10", kEstablished, 0.001),
            "EXTERNAL INFERRED ESTABLISHED");
  Scene told = RollingUpdateWithLateEds();
  told.header.settings.pod_cidrs = {"10.0.0.0/16"};
  EXPECT_EQ(VerdictAt(told, 15, "10.96.0.10", kEstablished, 0.001), "EXTERNAL CERTAIN ESTABLISHED");
  EXPECT_EQ(VerdictAt(RollingUpdateWithLateEds(), 15, "192.168.0.1", kEstablished, 0.001),
            "EXTERNAL CERTAIN ESTABLISHED");
}

// The address goes to another workload while the sidecar still believes in catalog.
Scene ReusedAddress() {
  Scene s = Serving();
  s.At(8).Runs({"new", kNew, "catalog", "v2"}).Slice("catalog", {"old", "new"});
  s.At(10).Terminates("old").Slice("catalog", {"new"}, {"old"});
  s.At(12.2).Finishes("old");
  s.At(12.4).Slice("catalog", {"new"}).Deleted("old");
  s.At(16).Runs({"intruder", kOld, "billing", "b1"}).Slice("billing", {"intruder"});
  s.At(17).Polled("webapp", {{"catalog", {kOld, kNew}}});
  s.At(25).Polled("webapp", {{"catalog", {kOld, kNew}}});
  return s;
}

TEST(DemoSceneTest, AnotherWorkloadOnTheAddressIsReusedThoughItAnswers) {
  Scene s = ReusedAddress();
  s.At(20).Connects("webapp", kOld, kEstablished, 0.001);
  s.At(40).Polled("webapp", {{"catalog", {kOld, kNew}}});
  SceneRun run(s);
  run.Replay(s);
  EXPECT_EQ(Summary(run.Of(0)), "REUSED CERTAIN STALE_EDS ESTABLISHED L4");
  EXPECT_EQ(run.Of(0).last_holder.pod.name, "old");
  EXPECT_EQ(run.Of(0).current_holder.pod.name, "intruder");
}

TEST(DemoSceneTest, ASynToADeadAddressAnsweredByItsNextOwnerNamesThatOwner) {
  Scene s = ReusedAddress();
  s.At(14.5).Connects("webapp", kOld, kEstablished, 3.01, Initiator::kProxy, 2);
  s.At(40).Polled("webapp", {{"catalog", {kOld, kNew}}});
  SceneRun run(s);
  run.Replay(s);
  EXPECT_EQ(run.Of(0).destination_class, DestinationClass::kDead);
  EXPECT_EQ(run.Of(0).holder_at_outcome.pod.name, "intruder");
}

TEST(DemoSceneTest, OnceEdsHasConvergedNothingNewIsCounted) {
  Scene s = RollingUpdateWithLateEds();
  for (double t = 22; t < 40; t += 1) s.At(t).Connects("webapp", kNew, kEstablished, 0.001);
  s.At(60).Polled("webapp", {{"catalog", {kNew}}});
  SceneRun run(s);
  run.Replay(s).Finish();
  ASSERT_EQ(run.judged.size(), 18u);
  for (const Connection& connection : run.judged) {
    EXPECT_EQ(connection.destination_class, DestinationClass::kLive);
  }
}

TEST(DemoSceneTest, HealthChecksAndDownstreamHalvesAreCountedApart) {
  Scene s = RollingUpdateWithLateEds();
  s.At(15).Connects("webapp", kOld, kAbandoned, 1, Initiator::kProxyControl);
  s.At(15).Connects("webapp", kNew, kEstablished, 0.001, Initiator::kIntercepted);
  SceneRun run(s);
  run.Replay(s).Finish();
  EXPECT_TRUE(run.judged.empty());
  const auto report = run.engine->MakeReport();
  EXPECT_EQ(report->status.not_judged, 2u);
  EXPECT_EQ(report->status.attempts, 0u);
  EXPECT_EQ(report->status.not_judged_by_initiator,
            (Counts{{"INTERCEPTED", 1}, {"PROXY_CONTROL", 1}}));
}

TEST(DemoSceneTest, WithoutAFeedNothingIsKnown) {
  Scene s;
  s.At(1).Proxy("webapp");
  s.At(2).Polled("webapp", {{"catalog", {kOld}}});
  EXPECT_EQ(VerdictAt(s, 15, kOld, kAbandoned, 1), "UNKNOWN_DESTINATION ABANDONED");
  EXPECT_EQ(VerdictAt(s, 15, "10.96.0.10", kEstablished, 0.001), "UNKNOWN_DESTINATION ESTABLISHED");
}

TEST(DemoSceneTest, BeforeTheFirstSyncNothingIsKnown) {
  Scene s;
  s.At(1).Proxy("webapp");
  s.At(3).Connects("webapp", kOld, kEstablished, 0.001);
  s.At(5).Runs({"old", kOld}).Slice("catalog", {"old"}).Synced();
  s.At(20).Polled("webapp", {{"catalog", {kOld}}});
  SceneRun run(s);
  run.Replay(s);
  EXPECT_EQ(run.Of(0).destination_class, DestinationClass::kUnknown);
  EXPECT_EQ(run.Of(0).unknown_reason, UnknownReason::kBeforeHorizon);
}

}  // namespace
}  // namespace phantomd::testing
