// When a verdict falls: the delay, the exceptions that wait longer, and their limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/scene_run.h"

namespace phantomd::testing {
namespace {

using enum Outcome;

class WaitingTest : public ::testing::Test {
 protected:
  // `old` serves catalog and is believed in; all feeds are synced.
  WaitingTest() {
    scene.At(1).Proxy("webapp").Synced();
    scene.At(2).Runs({"old", kOld}).Slice("catalog", {"old"});
    scene.At(3).Polled("webapp", {{"catalog", {kOld}}});
  }
  // Time passes: an input that tells nothing new.
  void Tick(double t) {
    scene.At(t).Add(Edge::kKube, {Seconds(t), ClockChange{scene.header.offset}});
  }
  SceneRun& Play(Engine::Options options = {}) {
    run = std::make_unique<SceneRun>(scene, options);
    return run->Replay(scene);
  }

  Scene scene;
  std::unique_ptr<SceneRun> run;
};

TEST_F(WaitingTest, AnAttemptIsJudgedOnceItsOutcomeIsJudgementDelayOld) {
  scene.At(10).Connects("webapp", kOld, kEstablished, 1);
  Tick(13.999);
  EXPECT_FALSE(Play().Judged(0));
  Tick(14);
  EXPECT_TRUE(Play().Judged(0)) << "due 3 s after its outcome at 11 s";
}

TEST_F(WaitingTest, WhatIsNeverJudgedDoesNotWait) {
  scene.At(10).Connects("webapp", kOld, kAbandoned, 1, Initiator::kProxyControl);
  scene.At(10).Connects("webapp", kOld, kEstablished, 1, Initiator::kIntercepted);
  Tick(12);
  const auto report = Play().engine->MakeReport();
  EXPECT_EQ(report->status.held, 0u) << "health checks go on for ever: they must not hold anything";
  EXPECT_EQ(report->status.not_judged, 2u);
  EXPECT_EQ(report->status.attempts, 0u);
}

TEST_F(WaitingTest, NewsObservedAtTheDueInstantComesTooLate) {
  scene.At(10).Connects("webapp", kOld, kRefused, 0);
  scene.At(13).Ends("old", 9);
  Tick(90);
  EXPECT_EQ(Summary(Play().Of(0)), "LIVE CERTAIN REFUSED L4");
}

TEST_F(WaitingTest, NewsJustBeforeTheDueInstantCounts) {
  scene.At(10).Connects("webapp", kOld, kRefused, 0);
  scene.At(12.999).Ends("old", 9);
  Tick(90);
  EXPECT_EQ(Summary(Play().Of(0)), "DEAD CERTAIN STALE_EDS REFUSED L4");
}

TEST_F(WaitingTest, AFailureAtAWithdrawnPodWaitsForItsEnd) {
  scene.At(10).Terminates("old").Slice("catalog", {}, {"old"});
  scene.At(13).Connects("webapp", kOld, kRefused, 0);
  Tick(30);
  EXPECT_FALSE(Play().Judged(0));
  scene.At(31).Ends("old", 12.5);
  EXPECT_EQ(Summary(Play().Of(0)), "DEAD CERTAIN STALE_EDS REFUSED L4");
}

TEST_F(WaitingTest, TheEndMayProveThatItWasStillAlive) {
  scene.At(10).Terminates("old").Slice("catalog", {}, {"old"});
  scene.At(13).Connects("webapp", kOld, kRefused, 0);
  scene.At(31).Ends("old", 30);
  EXPECT_EQ(Summary(Play().Of(0)), "WITHDRAWN CERTAIN STALE_EDS REFUSED L4");
}

TEST_F(WaitingTest, MaxHoldEndsTheWaitForAnEnd) {
  scene.At(10).Terminates("old").Slice("catalog", {}, {"old"});
  scene.At(13).Connects("webapp", kOld, kAbandoned, 0);
  Tick(75.999);
  EXPECT_FALSE(Play().Judged(0));
  Tick(76);
  EXPECT_EQ(Summary(Play().Of(0)), "DEAD INFERRED STALE_EDS ABANDONED L4");
}

TEST_F(WaitingTest, AnEstablishedConnectionToAWithdrawnPodDoesNotWait) {
  scene.At(10).Terminates("old").Slice("catalog", {}, {"old"});
  scene.At(13).Connects("webapp", kOld, kEstablished, 0);
  Tick(16);
  EXPECT_EQ(Summary(Play().Of(0)), "WITHDRAWN CERTAIN STALE_EDS ESTABLISHED L4");
}

TEST_F(WaitingTest, SilenceOfALivePodWaitsForItsNode) {
  scene.At(4).Runs({"other", "10.0.0.2"}).Slice("catalog", {"old", "other"});
  scene.At(5).Polled("webapp", {{"catalog", {kOld, "10.0.0.2"}}});
  scene.At(10).Connects("webapp", kOld, kAbandoned, 1);
  scene.At(10.5).Connects("webapp", "10.0.0.2", kAbandoned, 1);
  Tick(40);
  EXPECT_FALSE(Play().Judged(0));
  scene.At(50).Node("node-1", false);
  EXPECT_EQ(Play().Of(0).destination_class, DestinationClass::kDead);
  EXPECT_EQ(run->Of(0).certainty, Certainty::kInferred);
  EXPECT_EQ(run->Of(1).destination_class, DestinationClass::kDead);
}

TEST_F(WaitingTest, WithoutSuchNewsTheSilentPodIsLiveInferred) {
  scene.At(10).Connects("webapp", kOld, kAbandoned, 1);
  Tick(73.999);
  EXPECT_FALSE(Play().Judged(0));
  Tick(74);
  EXPECT_EQ(Summary(Play().Of(0)), "LIVE INFERRED ABANDONED L4");
}

// --- Polls ---

class PollWaitTest : public WaitingTest {
 protected:
  // An address that a pod held, listed by no cluster.
  PollWaitTest() {
    scene.At(4).Runs({"gone", "10.0.0.7"}).Slice("catalog", {"old", "gone"});
    scene.At(5).Terminates("gone").Slice("catalog", {"old"});
    scene.At(6).Ends("gone", 5.5);
    scene.At(10).Connects("webapp", "10.0.0.7", kAbandoned, 1);
  }
  const PollDemand::OfProxy* Demand() {
    const auto& proxies = run->engine->demand().proxies;
    const auto it = proxies.find(Scene::ProxyIdOf("webapp"));
    return it == proxies.end() ? nullptr : &it->second;
  }
};

TEST_F(PollWaitTest, AnUnexplainedPodAddressAsksForAPoll) {
  Tick(20);
  EXPECT_FALSE(Play().Judged(0));
  ASSERT_NE(Demand(), nullptr);
  EXPECT_EQ(Demand()->answer_after, Seconds(10));
  scene.At(21).Polled("webapp", {{"catalog", {kOld, "10.0.0.7"}}});
  EXPECT_TRUE(Play().Judged(0));
  EXPECT_EQ(run->Of(0).cause, Cause::kStaleEds);
  ASSERT_NE(Demand(), nullptr) << "it now believes in a dead address";
  EXPECT_FALSE(Demand()->answer_after.is_set());
  EXPECT_TRUE(Demand()->fast);
}

TEST_F(PollWaitTest, OnePollServesAllWhoWait) {
  scene.At(12).Connects("webapp", "10.0.0.7", kAbandoned, 1);
  Tick(20);
  Play();
  EXPECT_EQ(Demand()->answer_after, Seconds(12));
  scene.At(21).Polled("webapp", {{"catalog", {kOld}}});
  Play();
  EXPECT_TRUE(run->Judged(0));
  EXPECT_TRUE(run->Judged(1));
  EXPECT_EQ(Demand(), nullptr);
}

TEST_F(PollWaitTest, AFailedPollIsAnAnswer) {
  scene.At(21).PollFails("webapp", "timed out");
  EXPECT_TRUE(Play().Judged(0));
}

TEST_F(PollWaitTest, WithoutAnAnswerMaxHoldEndsTheWaitAndNothingIsCertain) {
  Tick(73.999);
  EXPECT_FALSE(Play().Judged(0));
  Tick(74);
  EXPECT_TRUE(Play().Judged(0));
  EXPECT_EQ(run->Of(0).destination_class, DestinationClass::kDead);
  EXPECT_EQ(run->Of(0).certainty, Certainty::kInferred);
  EXPECT_EQ(Demand(), nullptr);
}

TEST_F(PollWaitTest, AProxyThatIsGoneWillNotAnswer) {
  Tick(20);
  scene.At(21).ProxyGone("webapp");
  EXPECT_TRUE(Play().Judged(0));
  EXPECT_EQ(run->Of(0).certainty, Certainty::kInferred);
}

TEST_F(PollWaitTest, TheApplicationIsNeverAsked) {
  scene.At(12).Connects("webapp", "10.0.0.7", kAbandoned, 1, Initiator::kApplication);
  Tick(16.5);
  Play();
  EXPECT_FALSE(run->Judged(0));
  EXPECT_TRUE(run->Judged(1));
}

// --- Broken feeds ---

TEST_F(WaitingTest, BehindABrokenFeedAnAttemptWaitsUntilItIsWhole) {
  scene.At(9).FeedIs(Feed::kPods, FeedState::kBroken, 8);
  scene.At(10).Connects("webapp", kOld, kEstablished, 0);
  Tick(60);
  EXPECT_FALSE(Play().Judged(0));
  EXPECT_EQ(run->engine->MakeReport()->status.judged_until, Seconds(8));
  scene.At(61).FeedIs(Feed::kPods, FeedState::kSynced);
  EXPECT_TRUE(Play().Judged(0));
  EXPECT_EQ(run->Of(0).certainty, Certainty::kInferred) << "the feed was broken at its SYN";
}

TEST_F(PollWaitTest, BehindABrokenFeedThePollIsAskedForAtOnce) {
  scene.At(9).FeedIs(Feed::kSlices, FeedState::kBroken, 8);
  Tick(20);
  EXPECT_FALSE(Play().Judged(0));
  ASSERT_NE(Demand(), nullptr) << "what it believes is to be learned now, not in two minutes";
  EXPECT_EQ(Demand()->answer_after, Seconds(10));
  scene.At(21).Polled("webapp", {{"catalog", {kOld}}});
  EXPECT_FALSE(Play().Judged(0)) << "the feed is still broken";
  EXPECT_EQ(Demand(), nullptr);
  scene.At(30).FeedIs(Feed::kSlices, FeedState::kSynced);
  EXPECT_TRUE(Play().Judged(0));
}

TEST_F(WaitingTest, AtMaxGapHoldNothingElseIsWaitedFor) {
  scene.At(10).Terminates("old").Slice("catalog", {}, {"old"});
  scene.At(11).FeedIs(Feed::kPods, FeedState::kBroken, 10.5);
  scene.At(13).Connects("webapp", kOld, kRefused, 0);
  Tick(132.999);
  EXPECT_FALSE(Play().Judged(0));
  Tick(133.1);
  EXPECT_TRUE(Play().Judged(0)) << "its pod's end may be told later, but 120 s are the limit";
}

TEST_F(WaitingTest, AFeedThatBrokeUnnoticedIsLateNews) {
  scene.At(9).FeedIs(Feed::kPods, FeedState::kBroken, 7);
  EXPECT_TRUE(Play().engine->MakeReport()->status.late.empty());
  scene.At(12).FeedIs(Feed::kPods, FeedState::kSynced);
  scene.At(140).FeedIs(Feed::kPods, FeedState::kBroken, 20);
  EXPECT_EQ(Play().engine->MakeReport()->status.late, (Counts{{"feed", 1}}));
}

TEST_F(WaitingTest, NamesOfLossesAreBounded) {
  for (int i = 0; i < 150; ++i) {
    scene.Add(Edge::kProbe, {Seconds(9), Loss{.what = "kind-" + std::to_string(i), .count = 1}});
  }
  Play();
  const Counts lost = run->engine->MakeReport()->status.lost;
  EXPECT_EQ(lost.size(), 101u);
  uint64_t sum = 0;
  for (const auto& [what, count] : lost) sum += count;
  EXPECT_EQ(sum, 150u);
}

TEST_F(WaitingTest, WhatEndedBeforeTheFeedBrokeIsJudged) {
  scene.At(9).FeedIs(Feed::kPods, FeedState::kBroken, 8);
  scene.At(5).Connects("webapp", kOld, kEstablished, 0);
  Tick(9.5);
  EXPECT_TRUE(Play().Judged(0));
}

// What stayed in the kernel while no agent ran has not waited for anything yet.
TEST_F(WaitingTest, BehindABrokenFeedWhatIsToldLateWaitsAsLong) {
  scene.At(9).FeedIs(Feed::kPods, FeedState::kBroken, 8);
  scene.At(10).Connects("webapp", kOld, kEstablished, 0);
  for (Scene::Event event : scene.Events()) {
    auto* attempt = std::get_if<Attempt>(&event.input.value);
    if (attempt == nullptr) continue;
    attempt->socket_cookie += 1000;
    scene.Add(Edge::kProbe, {Seconds(300), *attempt});
    break;
  }
  Tick(301);
  EXPECT_EQ(Play().engine->MakeReport()->status.held, 1u);
  scene.At(302).FeedIs(Feed::kPods, FeedState::kSynced);
  EXPECT_EQ(Play().engine->MakeReport()->status.held, 0u);
}

TEST_F(WaitingTest, MaxGapHoldEndsTheWaitForAFeed) {
  scene.At(9).FeedIs(Feed::kSlices, FeedState::kBroken, 8);
  scene.At(10).Connects("webapp", kOld, kEstablished, 0);
  Tick(129.999);
  EXPECT_FALSE(Play().Judged(0));
  Tick(130.1);
  EXPECT_TRUE(Play().Judged(0));
  EXPECT_EQ(run->Of(0).certainty, Certainty::kInferred);
}

TEST_F(WaitingTest, BeforeItsFirstSyncAFeedIsNotBroken) {
  Scene fresh;
  fresh.At(1).Proxy("webapp").FeedIs(Feed::kPods, FeedState::kSynced);
  fresh.At(2).Connects("webapp", kOld, kEstablished, 0);
  fresh.At(10).FeedIs(Feed::kNodes, FeedState::kSynced);
  SceneRun fresh_run(fresh);
  EXPECT_TRUE(fresh_run.Replay(fresh).Judged(0));
}

// --- Bounds, ends, lateness ---

TEST_F(WaitingTest, BeyondMaxHeldTheOldestIsJudgedWithWhatIsKnown) {
  for (int i = 0; i < 4; ++i) scene.At(10 + i * 0.1).Connects("webapp", kOld, kEstablished, 0);
  Play({.max_held = 3});
  EXPECT_TRUE(run->Judged(0));
  EXPECT_FALSE(run->Judged(1));
  EXPECT_EQ(run->Of(0).certainty, Certainty::kInferred);
  EXPECT_EQ(run->engine->MakeReport()->status.late, (Counts{{"attempt_judged_early", 1}}));
}

TEST_F(WaitingTest, TheEndJudgesEverythingButNothingBehindTheWatermarkForCertain) {
  scene.At(10).Connects("webapp", kOld, kEstablished, 0);
  scene.At(14).Connects("webapp", kOld, kEstablished, 0);
  Tick(15);
  Play().Finish();
  EXPECT_EQ(run->Of(0).certainty, Certainty::kCertain);
  EXPECT_EQ(run->Of(1).certainty, Certainty::kInferred);
  EXPECT_EQ(run->engine->MakeReport()->status.held, 0u);
}

TEST_F(WaitingTest, ARecordThatComesLateIsCountedAndJudgedAtOnce) {
  scene.At(10).Connects("webapp", kOld, kEstablished, 0);
  Attempt late;
  late.proxy_id = Scene::ProxyIdOf("webapp");
  late.initiator = Initiator::kProxy;
  late.destination = {Ip(kOld), Scene::kPort};
  late.started = late.ended = Seconds(10);
  late.outcome = kEstablished;
  late.socket_cookie = 2;
  scene.Add(late, 13.001);
  Tick(13.002);
  EXPECT_TRUE(Play().Judged(1));
  EXPECT_EQ(run->engine->MakeReport()->status.late, (Counts{{"attempt", 1}}));
}

TEST_F(WaitingTest, NewsFromBehindTheWatermarkIsCountedByKind) {
  scene.At(20).Ends("old", 16.999);
  Play();
  EXPECT_EQ(run->engine->MakeReport()->status.late, (Counts{{"pod_end", 1}}));
}

TEST_F(WaitingTest, NewsInTimeIsNotLate) {
  scene.At(20).Terminates("old").Slice("catalog", {}, {"old"});
  scene.At(25).Finishes("old");
  scene.At(25.2).Ends("old", 25).Deleted("old");
  Tick(30);
  Play();
  EXPECT_TRUE(run->engine->MakeReport()->status.late.empty());
}

TEST_F(WaitingTest, LossesAreCountedByWhat) {
  scene.Add(Edge::kProbe, {Seconds(9), Loss{.what = "attempt", .count = 3}});
  scene.Add(Edge::kProbe, {Seconds(9), Loss{.what = "attempt", .count = 2}});
  scene.Add(Edge::kProbe, {Seconds(9), Loss{.what = "connection_end", .count_unknown = true}});
  Play();
  EXPECT_EQ(run->engine->MakeReport()->status.lost,
            (Counts{{"attempt", 5}, {"connection_end_spans_unknown", 1}}));
}

TEST_F(WaitingTest, AWithdrawalMakesItsBelieversFast) {
  scene.At(10).Terminates("old").Slice("catalog", {}, {"old"});
  Play();
  const PollDemand& demand = run->engine->demand();
  ASSERT_EQ(demand.proxies.count(Scene::ProxyIdOf("webapp")), 1u);
  EXPECT_TRUE(demand.proxies.at(Scene::ProxyIdOf("webapp")).fast);
  scene.At(11).Polled("webapp", {{"catalog", {}}});
  Play();
  EXPECT_TRUE(run->engine->demand().proxies.empty());
}

TEST_F(WaitingTest, ABeliefInAReusedAddressStaysFast) {
  scene.At(10).Terminates("old").Slice("catalog", {}, {"old"});
  scene.At(12).Ends("old", 11.5).Deleted("old");
  scene.At(15).Runs({"intruder", kOld, "billing"}).Runs({"peer", "10.0.0.5"});
  scene.At(15.1).Slice("catalog", {"peer"}).Slice("billing", {"intruder"});
  Tick(20);
  Play();
  ASSERT_EQ(run->engine->demand().proxies.size(), 1u);
  EXPECT_TRUE(run->engine->demand().proxies.begin()->second.fast);
}

}  // namespace
}  // namespace phantomd::testing
