// Judge over a real Lifecycle and Belief: it reads the right facts, and names who held the address
// when the outcome came.
#include "fmt/format.h"
#include "tests/verdict/judge_fixture.h"

namespace phantomd::testing {
namespace {

// The client may have resolved it for a pod that was gone before the agent's first list, at 1 s.
TEST_F(JudgeTest, WhatAClientNamesWithinHalfAMinuteOfTheFirstListIsNotCertain) {
  scene.At(1).Synced();
  scene.At(5).Runs({"a", "10.0.0.1"});
  Learn();
  const struct {
    double syn;
    Certainty certainty;
  } kCases[] = {
      {10, Certainty::kInferred}, {30.9, Certainty::kInferred}, {31, Certainty::kCertain}};
  for (const auto& c : kCases) {
    const Attempt attempt = To("10.0.0.1", c.syn, c.syn + 0.001, Outcome::kEstablished);
    const Verdict verdict = Judge(attempt, ProxyId(), lifecycle, belief, {}).verdict;
    EXPECT_EQ(verdict.destination, DestinationClass::kLive) << c.syn;
    EXPECT_EQ(verdict.certainty, c.certainty) << c.syn;
  }
}

// Plainly live and listed, yet a client may go to the earlier pod through the ORIGINAL_DST cluster.
TEST_F(JudgeTest, AFreshHolderBesideOriginalDstIsCertainOnlyOnceItsPredecessorIsForgotten) {
  const std::vector<PolledCluster> clusters = {
      {"catalog", {"10.0.0.1"}}, {.service = "", .discovery = Discovery::kOriginalDst}};
  scene.At(1).Synced().Runs({"a", "10.0.0.1"}).Slice("catalog", {"a"});
  scene.At(40).Terminates("a").Slice("catalog", {});
  scene.At(42).Ends("a", 41.9).Deleted("a");
  scene.At(45).Runs({"b", "10.0.0.1"}).Slice("catalog", {"b"});
  scene.At(46).Polled("webapp", clusters);
  scene.At(90).Polled("webapp", clusters);
  Learn();
  const struct {
    double syn;
    Certainty certainty;
  } kCases[] = {{50, Certainty::kInferred}, {80, Certainty::kCertain}};
  for (const auto& c : kCases) {
    const Verdict verdict =
        Decide(To("10.0.0.1", c.syn, c.syn + 0.001, Outcome::kEstablished)).verdict;
    EXPECT_EQ(verdict.destination, DestinationClass::kLive) << c.syn;
    EXPECT_EQ(verdict.certainty, c.certainty) << c.syn;
  }
}

// A connection through the ORIGINAL_DST cluster makes a host there, which stays for 5 s at least.
TEST_F(JudgeTest, APollWithinFiveSecondsTellsThatNoClientWentThroughOriginalDst) {
  const auto polled = [&](double t, std::vector<std::string> by_clients) {
    scene.At(t).Polled(
        "webapp",
        {{"catalog", {"10.0.0.1"}},
         {.service = "", .ips = std::move(by_clients), .discovery = Discovery::kOriginalDst}});
  };
  scene.At(1).Synced().Runs({"a", "10.0.0.1"}).Slice("catalog", {"a"});
  scene.At(40).Terminates("a").Slice("catalog", {});
  scene.At(42).Ends("a", 41.9).Deleted("a");
  scene.At(45).Runs({"b", "10.0.0.1"}).Slice("catalog", {"b"});
  polled(46, {});
  polled(55, {});
  polled(62, {"10.0.0.1"});
  polled(70, {});
  Learn();
  const struct {
    double syn;
    Certainty certainty;
  } kCases[] = {{49.9, Certainty::kInferred}, {50, Certainty::kCertain},
                {54.5, Certainty::kCertain},  {60, Certainty::kInferred},
                {64, Certainty::kInferred},   {69.5, Certainty::kInferred},
                {70.5, Certainty::kInferred}};
  for (const auto& c : kCases) {
    const Judgement judged = Decide(To("10.0.0.1", c.syn, c.syn + 0.001, Outcome::kEstablished));
    EXPECT_EQ(judged.verdict.destination, DestinationClass::kLive) << c.syn;
    EXPECT_EQ(judged.verdict.certainty, c.certainty) << c.syn;
    EXPECT_EQ(judged.wants.poll, c.syn == 70.5) << c.syn;
  }
}

TEST_F(JudgeTest, WhoHeldTheAddressAtTheOutcomeIsNamedIfAnother) {
  scene.At(1).Synced().Runs({"a", "10.0.0.1"}).Slice("catalog", {"a"});
  scene.At(2).Polled("webapp", {{"catalog", {"10.0.0.1"}}});
  scene.At(10).Terminates("a").Slice("catalog", {});
  scene.At(12).Ends("a", 11.9).Deleted("a");
  scene.At(15).Runs({"b", "10.0.0.1", "billing"});
  scene.At(30).Polled("webapp", {{"catalog", {"10.0.0.1"}}});
  Learn();
  Attempt attempt = To("10.0.0.1", 12.5, 19.6, Outcome::kEstablished);
  attempt.syn_retransmits = 3;
  const Verdict verdict = Decide(attempt).verdict;
  EXPECT_EQ(verdict.destination, DestinationClass::kDead);
  EXPECT_EQ(verdict.last_holder, lifecycle.FindPod(Scene::UidOf("a")));
  EXPECT_EQ(verdict.holder_at_outcome, lifecycle.FindPod(Scene::UidOf("b")));
  attempt.outcome = Outcome::kAbandoned;
  attempt.ended = Seconds(13.5);
  EXPECT_EQ(Decide(attempt).verdict.holder_at_outcome, PodHandle::kNone);
}

TEST_F(JudgeTest, WhoStillHoldsTheAddressAtTheOutcomeIsNotNamedTwice) {
  scene.At(1).Synced().Runs({"a", "10.0.0.1"}).Slice("catalog", {"a"});
  scene.At(2).Polled("webapp", {{"catalog", {"10.0.0.1"}}});
  scene.At(10).Terminates("a").Slice("catalog", {}, {"a"});
  scene.At(30).Polled("webapp", {{"catalog", {"10.0.0.1"}}});
  Learn();
  const Verdict verdict = Decide(To("10.0.0.1", 15, 15.001, Outcome::kEstablished)).verdict;
  EXPECT_EQ(verdict.destination, DestinationClass::kWithdrawn);
  EXPECT_EQ(verdict.current_holder, lifecycle.FindPod(Scene::UidOf("a")));
  EXPECT_EQ(verdict.holder_at_outcome, PodHandle::kNone);
}

TEST_F(JudgeTest, WhoGotTheAddressAfterTheSynIsNotTheStaleHolder) {
  scene.At(1).Synced().Runs({"a", "10.0.0.1"}).Slice("catalog", {"a"});
  scene.At(2).Polled("webapp", {{"catalog", {"10.0.0.1"}}});
  scene.At(40).Terminates("a");
  scene.At(50).Runs({"b", "10.0.0.1", "billing"});
  Learn();
  JudgeContext lost;
  lost.node_fell_silent = true;
  const Verdict verdict = Judge(To("10.0.0.1", 10, 11, Outcome::kAbandoned),
                                Scene::ProxyIdOf("webapp"), lifecycle, belief, lost)
                              .verdict;
  EXPECT_EQ(verdict.destination, DestinationClass::kDead);
  EXPECT_EQ(verdict.last_holder, lifecycle.FindPod(Scene::UidOf("a")));
}

TEST_F(JudgeTest, AnAdoptedSynIsJudgedOnlyIfTheIndexReachesBackThatFar) {
  scene.At(100).Synced().Runs({"a", "10.0.0.1"}).Slice("catalog", {"a"});
  scene.At(101).Polled("webapp", {{"catalog", {"10.0.0.1"}}});
  scene.At(400).Polled("webapp", {{"catalog", {"10.0.0.1"}}});
  Learn();
  Attempt attempt = To("10.0.0.1", 226.9, 227, Outcome::kEstablished);
  attempt.adopted = true;
  EXPECT_EQ(Decide(attempt).verdict.unknown_reason, UnknownReason::kBeforeHorizon);
  attempt.started = Seconds(227.1);
  attempt.ended = Seconds(227.2);
  EXPECT_EQ(Decide(attempt).verdict.destination, DestinationClass::kLive);
  EXPECT_EQ(Decide(attempt).verdict.certainty, Certainty::kInferred);
}

}  // namespace
}  // namespace phantomd::testing
