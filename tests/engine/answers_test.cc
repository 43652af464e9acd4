// What the engine answers: report, explanation, export; and the order it insists on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/scene_run.h"
#include "tests/testing/report_text.h"

namespace phantomd::testing {
namespace {

using ::testing::HasSubstr;
using enum Outcome;

// A rollout from v1 to v2 that webapp's sidecar learns at 20 s; the old pod is dead since 12 s.
// Connections to it: one WITHDRAWN, three DEAD.
Scene Rollout() {
  Scene s;
  s.At(1).Proxy("webapp").Runs({.name = "webapp", .ip = "10.0.0.9", .workload = "webapp"});
  s.At(1.1).Runs({"old", kOld}).Slice("catalog", {"old"}).Synced();
  s.At(2).Polled("webapp", {{"catalog", {kOld}}});
  s.At(8).Runs({"new", kNew, "catalog", "v2"}).Slice("catalog", {"old", "new"});
  s.At(10).Terminates("old").Slice("catalog", {"new"}, {"old"});
  s.At(11).Connects("webapp", kOld, kEstablished, 0.001);
  s.At(12.2).Finishes("old");
  s.At(12.4).Slice("catalog", {"new"}).Deleted("old");
  for (double t = 12; t < 20; t += 0.5) s.At(t).Polled("webapp", {{"catalog", {kOld, kNew}}});
  for (double t = 15; t < 18; t += 1) s.At(t).Connects("webapp", kOld, kAbandoned, 1);
  s.At(20).Polled("webapp", {{"catalog", {kNew}}});
  s.At(30).Connects("webapp", kNew, kEstablished, 0.001);
  return s;
}

class AnswersTest : public ::testing::Test {
 protected:
  AnswersTest() : scene(Rollout()), run(scene) { run.Replay(scene).Finish(); }
  Scene scene;
  SceneRun run;
};

TEST_F(AnswersTest, TheRolloutSumsWhatItsDepartingPodCost) {
  const auto report = run.engine->MakeReport();
  ASSERT_EQ(report->rollouts.size(), 1u);
  const RolloutReport& rollout = report->rollouts[0];
  EXPECT_THAT(rollout.name, HasSubstr("shop/Deployment/catalog/v2/"));
  EXPECT_EQ(rollout.departure, Departure::kRollout);
  EXPECT_EQ(rollout.from_revision, "v1");
  EXPECT_EQ(rollout.pods_departed, 1u);
  EXPECT_EQ(rollout.withdrawn, 1u);
  EXPECT_EQ(rollout.dead, 3u);
  EXPECT_EQ(rollout.attempts, 4u);
  EXPECT_EQ(rollout.by_cause, (Counts{{"STALE_EDS", 3}}));
  EXPECT_EQ(rollout.by_outcome, (Counts{{"ABANDONED", 3}}));
  EXPECT_EQ(rollout.by_layer, (Counts{{"L4", 3}}));
  ASSERT_EQ(rollout.windows.size(), 1u);
  EXPECT_EQ(rollout.windows[0].proxy_name, "shop/webapp");
  EXPECT_TRUE(rollout.windows[0].closed.is_set());
  EXPECT_GT(rollout.windows[0].closed, Seconds(19.4));
  EXPECT_LT(rollout.windows[0].closed, Seconds(20.1));
}

TEST_F(AnswersTest, AttemptsAreTheSumOverTheirClasses) {
  const StatusReport status = run.engine->MakeReport()->status;
  EXPECT_EQ(status.attempts, 5u);
  EXPECT_EQ(status.attempts_by_class, (Counts{{"DEAD", 3}, {"LIVE", 1}, {"WITHDRAWN", 1}}));
}

TEST(LossAnswersTest, WhatWasLostMakesTheCountsOfItsTimeLowerBounds) {
  const auto report_with = [](const Loss& loss, double told) {
    Scene scene = Rollout();
    scene.Add(Edge::kProbe, {Seconds(told), loss});
    SceneRun run(scene);
    run.Replay(scene).Finish();
    return run.engine->MakeReport();
  };
  Loss loss{.what = "attempt",
            .count = 5,
            .from = Seconds(15.9),
            .to = Seconds(16),
            .proxy_id = Scene::ProxyIdOf("webapp")};
  auto report = report_with(loss, 400);
  EXPECT_EQ(report->rollouts.at(0).attempts_lost, 5u);
  EXPECT_TRUE(report->rollouts[0].lower_bounds);
  EXPECT_EQ(report->proxies.at(0).attempts_lost, 5u);
  EXPECT_TRUE(report->proxies[0].lower_bounds);
  EXPECT_EQ(report->status.losses, std::vector<Loss>{loss});

  loss.proxy_id = ProxyId();  // an application's
  report = report_with(loss, 400);
  EXPECT_EQ(report->rollouts.at(0).attempts_lost, 5u);
  EXPECT_EQ(report->proxies.at(0).attempts_lost, 0u);
  EXPECT_FALSE(report->proxies[0].lower_bounds);

  loss.count = 0;
  loss.count_unknown = true;
  report = report_with(loss, 400);
  EXPECT_EQ(report->rollouts.at(0).attempts_lost, 0u);
  EXPECT_TRUE(report->rollouts[0].lower_bounds);
  EXPECT_TRUE(report->proxies.at(0).lower_bounds);

  // Before the rollout, and after the last of its attempts may have ended.
  for (const double at : {9.0, 300.0}) {
    loss.from = loss.to = Seconds(at);
    report = report_with(loss, 400);
    EXPECT_FALSE(report->rollouts.at(0).lower_bounds) << at;
  }
}

TEST_F(AnswersTest, AConnectionIsTiedToTheRolloutOfItsLastHolder) {
  const auto report = run.engine->MakeReport();
  ASSERT_EQ(report->connections.size(), 1u);
  ASSERT_EQ(report->connections[0]->size(), 4u);
  const Connection& connection = *report->connections[0]->back();
  const auto it = report->rollout_of.find(connection.last_holder.pod.uid);
  ASSERT_NE(it, report->rollout_of.end());
  EXPECT_EQ(it->second, report->rollouts[0].name);
}

TEST_F(AnswersTest, TheProxyIsNamedByItsPod) {
  const auto report = run.engine->MakeReport();
  ASSERT_EQ(report->proxies.size(), 1u);
  EXPECT_EQ(report->proxies[0].proxy.name, "shop/webapp");
  EXPECT_EQ(report->proxies[0].proxy.pod.workload.name, "webapp");
  EXPECT_EQ(report->proxies[0].attempts, 5u);
  EXPECT_EQ(report->proxies[0].phantoms, 3u);
  EXPECT_EQ(report->proxies[0].endpoints, 1u);
  EXPECT_EQ(report->status.proxies, 1u);
  EXPECT_EQ(report->status.proxies_without_belief, 0u);
}

TEST_F(AnswersTest, ExplainTellsHoldersBeliefsAndConnections) {
  const AddressExplanation e = run.engine->Explain({Ip(kOld), Scene::kPort}, Seconds(15));
  EXPECT_EQ(e.destination, DestinationClass::kDead);
  EXPECT_EQ(e.certainty, Certainty::kCertain);
  ASSERT_EQ(e.holders.size(), 1u);
  EXPECT_EQ(e.holders[0].pod.name, "old");
  EXPECT_TRUE(e.holders[0].withdrawn.is_set());
  EXPECT_TRUE(e.holders[0].released_not_after.is_set());
  ASSERT_EQ(e.beliefs.size(), 1u);
  EXPECT_TRUE(e.beliefs[0].believes);
  EXPECT_EQ(e.beliefs[0].health, "assigned");
  EXPECT_EQ(e.beliefs[0].gone_by, Seconds(20));
  ASSERT_EQ(e.recent.size(), 4u);
  EXPECT_EQ(e.recent[0]->started, Seconds(17)) << "newest first";
}

TEST_F(AnswersTest, ExplainFollowsTheInstantAndThePort) {
  const AddressExplanation live = run.engine->Explain({Ip(kOld), 0}, Seconds(5));
  EXPECT_EQ(live.destination, DestinationClass::kLive);
  EXPECT_EQ(live.recent.size(), 4u) << "port 0: any";
  const AddressExplanation later = run.engine->Explain({Ip(kOld), Scene::kPort}, Seconds(25));
  EXPECT_FALSE(later.beliefs.at(0).believes);
  EXPECT_EQ(later.beliefs.at(0).health, "dropped");
  const AddressExplanation other_port = run.engine->Explain({Ip(kOld), 1}, Seconds(15));
  EXPECT_TRUE(other_port.beliefs.empty());
  EXPECT_TRUE(other_port.recent.empty());
}

TEST_F(AnswersTest, WhatTheWatermarkHasNotPassedIsNeverExplainedForCertain) {
  EXPECT_EQ(run.engine->Explain({Ip(kOld), 0}, run.engine->now()).certainty, Certainty::kInferred);
}

TEST(StaleEndpointTest, WhatAProxyStillBelievesInIsAPhantomWaitingToHappen) {
  Scene s = Rollout();
  s.At(40).Polled("webapp", {{"catalog", {kOld, kNew}}});
  SceneRun run(s);
  run.Replay(s);
  const auto report = run.engine->MakeReport();
  ASSERT_EQ(report->stale_endpoints.size(), 1u);
  const StaleEndpointReport& stale = report->stale_endpoints[0];
  EXPECT_EQ(stale.address, (SocketAddr{Ip(kOld), Scene::kPort}));
  EXPECT_EQ(stale.destination, DestinationClass::kDead);
  EXPECT_EQ(stale.cause, Cause::kStaleEds);
  EXPECT_EQ(stale.holder.pod.name, "old");
  EXPECT_EQ(stale.proxy_name, "shop/webapp");
  EXPECT_EQ(report->proxies[0].stale_endpoints, 1u);
  ASSERT_EQ(report->metrics.stale.size(), 1u);
  EXPECT_EQ(report->metrics.stale[0].source.pod, "webapp");
}

TEST(StrandedTest, AConnectionThatOutlivesItsPodIsCountedForItsRollout) {
  Scene s = Rollout();
  ConnectionEnd end;
  end.destination = {Ip(kOld), Scene::kPort};
  end.proxy_id = Scene::ProxyIdOf("webapp");
  end.initiator = Initiator::kProxy;
  end.established = Seconds(9);
  end.ended = Seconds(25);
  end.how = ConnectionEnd::How::kReset;
  s.Add(Edge::kProbe, {Seconds(25), end});
  end.how = ConnectionEnd::How::kClosed;
  s.Add(Edge::kProbe, {Seconds(25), end});
  end.how = ConnectionEnd::How::kReset;
  end.ended = Seconds(9.5);  // while the pod lived
  s.Add(Edge::kProbe, {Seconds(9.6), end});
  end.ended = Seconds(25);
  end.initiator = Initiator::kProxyControl;
  s.Add(Edge::kProbe, {Seconds(25), end});
  SceneRun run(s);
  run.Replay(s).Finish();
  const RolloutReport rollout = run.engine->MakeReport()->rollouts.at(0);
  EXPECT_EQ(rollout.stranded, 1u);
  EXPECT_EQ(rollout.stranded_by_end, (Counts{{"RESET", 1}}));
}

TEST(ExportTest, AnEngineThatStartsFromAnExportAnswersTheSame) {
  const Scene s = Rollout();
  SceneRun original(s);
  original.Replay(s);
  std::vector<Input> exported;
  original.engine->Export([&](const Input& input) { exported.push_back(input); });
  ASSERT_FALSE(exported.empty());
  ASSERT_TRUE(std::holds_alternative<Header>(exported[0].value));
  const Header& header = std::get<Header>(exported[0].value);
  EXPECT_EQ(exported[0].observed, original.engine->now());

  Engine restored(header, exported[0].observed, {}, nullptr, nullptr);
  for (size_t i = 1; i < exported.size(); ++i) {
    ASSERT_TRUE(restored.Replay(exported[i]).ok()) << i;
  }
  EXPECT_EQ(restored.now(), original.engine->now());
  for (const char* ip : {kOld, kNew, "10.0.0.9", "10.0.0.77"}) {
    for (double t = 2; t < 30; t += 0.5) {
      AddressExplanation a = original.engine->Explain({Ip(ip), 0}, Seconds(t));
      AddressExplanation b = restored.Explain({Ip(ip), 0}, Seconds(t));
      a.recent.clear();  // counted connections belong to the run that counted them
      b.recent.clear();
      EXPECT_EQ(TextOf(a), TextOf(b)) << ip << " at " << t;
    }
  }
}

TEST(ExportTest, WhatStillWaitsIsJudgedByTheOneThatStartsFromIt) {
  Scene s = Rollout();
  SceneRun original(s);
  original.Replay(s);
  ASSERT_FALSE(original.Judged(4)) << "the connection to the new pod at 30 s is not due yet";
  std::vector<Input> exported;
  original.engine->Export([&](const Input& input) { exported.push_back(input); });
  std::vector<Connection> judged;
  Engine restored(std::get<Header>(exported[0].value), exported[0].observed, {}, nullptr,
                  [&](const Connection& c) { judged.push_back(c); });
  for (size_t i = 1; i < exported.size(); ++i) ASSERT_TRUE(restored.Replay(exported[i]).ok());
  ASSERT_TRUE(restored.Replay({Seconds(60), ClockChange{s.header.offset}}).ok());
  ASSERT_EQ(judged.size(), 1u);
  EXPECT_EQ(judged[0].destination_class, DestinationClass::kLive);
  EXPECT_EQ(judged[0].certainty, Certainty::kCertain);
}

TEST(ReplayTest, ASecondHeaderAndADisorderedStampAreRefused) {
  Scene s;
  SceneRun run(s);
  EXPECT_FALSE(run.engine->Replay({Seconds(1), s.header}).ok());
  EXPECT_TRUE(run.engine->Replay({Seconds(2), ClockChange{}}).ok());
  const absl::Status disordered = run.engine->Replay({Seconds(1), ClockChange{}});
  EXPECT_FALSE(disordered.ok());
  EXPECT_THAT(std::string(disordered.message()), HasSubstr("1000000000 ns"));
  EXPECT_EQ(run.applied.size(), 1u);
}

TEST(ReplayTest, AnUnreadablePodRangeIsToldInStatus) {
  Scene s;
  s.header.settings.pod_cidrs = {"10.0.0.0/99"};
  SceneRun run(s);
  EXPECT_EQ(run.engine->MakeReport()->status.lost, (Counts{{"pod_cidr_unreadable", 1}}));
}

}  // namespace
}  // namespace phantomd::testing
