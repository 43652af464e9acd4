// Rules 5 and 6: the verdict, and what is never certain; what more the judge would like to know.
#include <gtest/gtest.h>

#include "tests/verdict/evidence_builder.h"

namespace phantomd::testing {
namespace {

EvidenceBuilder LivePod() {
  EvidenceBuilder known;
  known.Held({.pod = 1});
  known.Listed({.name = "catalog", .service = "shop/catalog", .means = {{1, kMeant}}});
  return known;
}

EvidenceBuilder DeadPodOfCatalog() {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}, .withdrawn = {3, 3.5}});
  known.Listed({.name = "catalog", .service = "shop/catalog", .means = {{1, kMeant}}});
  return known;
}

EvidenceBuilder WithdrawnPod() {
  EvidenceBuilder known;
  known.Held({.pod = 1, .withdrawn = {3, 3.5}});
  known.Listed({.name = "catalog", .service = "shop/catalog", .means = {{1, kMeant}}});
  return known;
}

TEST(Rule5Test, OneClassLeftIsCertain) {
  EXPECT_EQ(Decide(LivePod(), {}).verdict.certainty, kSure);
  EXPECT_EQ(Decide(DeadPodOfCatalog(), {10, kAbandoned}).verdict.certainty, kSure);
  EXPECT_EQ(Decide(WithdrawnPod(), {}).verdict.certainty, kSure);
}

TEST(Rule5Test, AfterSilenceDeadComesFirst) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {5, 30}, .withdrawn = {3, 3.5}});  // likely until 29.9 s
  EXPECT_EQ(Decide(known, {10, kAbandoned}).verdict.destination, kDead);
  EXPECT_EQ(Decide(known, {10, kRefused}).verdict.destination, kWithdrawn);
}

// An RST comes from a network namespace: the old one is gone a second after its containers.
TEST(Rule5Test, ARefusalLongAfterTheLastHolderIsTheNextOnes) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});   // likely until 4.9 s
  known.Held({.pod = 2, .acquired = {4, 10}});  // likely from 9.9 s
  known.Listed({.name = "catalog", .service = "shop/catalog", .means = {{1, kMeant}, {2, kNot}}});
  EXPECT_EQ(Decide(known, {5.5, kRefused}).verdict.destination, kDead);
  EXPECT_EQ(Decide(known, {6, kRefused}).verdict.destination, kReused);
  EXPECT_EQ(Decide(known, {6, kRefused}).verdict.certainty, kGuess);
  EXPECT_EQ(Decide(known, {6, kAbandoned}).verdict.destination, kDead);
}

TEST(Rule5Test, TheLikelyInstantsAreThoseBeforeTheSyn) {
  const Verdict dead = Decide(DeadPodOfCatalog(), {10, kAbandoned}).verdict;
  EXPECT_EQ(dead.last_holder, static_cast<PodHandle>(1));
  EXPECT_EQ(dead.current_holder, PodHandle::kNone);
  EXPECT_EQ(dead.dead, At(4.9));
  EXPECT_EQ(dead.withdrawn, At(3.4));
  const Verdict withdrawn = Decide(WithdrawnPod(), {10}).verdict;
  EXPECT_EQ(withdrawn.last_holder, static_cast<PodHandle>(1));
  EXPECT_EQ(withdrawn.current_holder, static_cast<PodHandle>(1));
  EXPECT_EQ(withdrawn.withdrawn, At(3.4));
  EXPECT_FALSE(withdrawn.dead.is_set());
  const Verdict live = Decide(LivePod(), {10}).verdict;
  EXPECT_EQ(live.current_holder, static_cast<PodHandle>(1));
  EXPECT_EQ(live.last_holder, PodHandle::kNone);
}

TEST(Rule5Test, ALikelyEndNeverLiesBehindTheSyn) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {5, 30}, .withdrawn = {3, 3.5}});
  EXPECT_EQ(Decide(known, {10, kAbandoned}).verdict.dead, At(10));
}

TEST(Rule5Test, BeforeTheHorizonNothingIsKnown) {
  EvidenceBuilder known = LivePod();
  known.facts.before_horizon = true;
  const Verdict verdict = Decide(known, {}).verdict;
  EXPECT_EQ(verdict.destination, kUnknown);
  EXPECT_EQ(verdict.unknown_reason, UnknownReason::kBeforeHorizon);
  EXPECT_EQ(verdict.cause, Cause::kUnspecified);
}

TEST(Rule5Test, BeforeTheFirstListOfPodsNothingIsKnown) {
  EvidenceBuilder known;
  known.pods_told = false;
  EXPECT_EQ(Decide(known, {}).verdict.destination, kUnknown);
  EXPECT_EQ(Decide(known, {}).verdict.unknown_reason, UnknownReason::kBeforeHorizon);
}

TEST(Rule5Test, BeforeTheFirstListOfSlicesNoServiceIsAnotherClusters) {
  EvidenceBuilder known;
  known.slices_told = false;
  known.Listed({.name = "c", .service = "shop/catalog", .service_known = false});
  EXPECT_EQ(Decide(known, {}).verdict.destination, kUnknown);
  EXPECT_EQ(Decide(known, {}).verdict.unknown_reason, UnknownReason::kBeforeHorizon);
}

TEST(Rule5Test, AnAdoptedSynMayBeOlderThanTheIndex) {
  const Attempt attempt = Connect{.syn = 10, .outcome = kAbandoned, .adopted = true}.attempt();
  Evidence evidence = DeadPodOfCatalog().Build(attempt.started);
  EXPECT_EQ(Eliminate(attempt, evidence, {}).verdict.destination, kDead);
  EXPECT_EQ(Eliminate(attempt, evidence, {}).verdict.certainty, kGuess);
  evidence.syn_before_horizon = true;
  EXPECT_EQ(Eliminate(attempt, evidence, {}).verdict.unknown_reason, UnknownReason::kBeforeHorizon);
}

TEST(Rule6Test, NothingAboutPodsIsCertainWhileTheirFeedIsBroken) {
  EvidenceBuilder reused;
  reused.Held({.pod = 1, .released = {4, 5}});
  reused.Held({.pod = 2, .acquired = {6, 7}});
  reused.Listed({.name = "c", .service = "shop/catalog", .means = {{1, kMeant}, {2, kNot}}});
  for (EvidenceBuilder known : {LivePod(), DeadPodOfCatalog(), WithdrawnPod(), reused}) {
    EXPECT_EQ(Decide(known, {10, kRefused}).verdict.certainty, kSure);
    known.facts.pods_broken = true;
    EXPECT_EQ(Decide(known, {10, kRefused}).verdict.certainty, kGuess);
  }
}

TEST(Rule6Test, BrokenSlicesMatterWhereServiceOrWithdrawalDecides) {
  const std::pair<EvidenceBuilder, Certainty> rows[] = {
      {LivePod(), kGuess}, {WithdrawnPod(), kGuess}, {DeadPodOfCatalog(), kSure}};
  for (auto [known, certainty] : rows) {
    known.facts.slices_broken = true;
    EXPECT_EQ(Decide(known, {10, kRefused}).verdict.certainty, certainty);
  }
}

TEST(Rule6Test, ASilentPodIsNeverCertainlyAlive) {
  for (const Outcome outcome : {kTimedOut, kAbandoned, kUnreachable}) {
    EXPECT_EQ(Decide(LivePod(), {10, outcome}).verdict.certainty, kGuess);
    EXPECT_EQ(Decide(WithdrawnPod(), {10, outcome}).verdict.certainty, kGuess);
  }
  EXPECT_EQ(Decide(LivePod(), {10, kRefused}).verdict.certainty, kSure);
}

// It may be the node of the pod that got the address.
TEST(Rule6Test, ASilentPodIsNeverCertainlyTheNewOwner) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  known.Held({.pod = 2, .acquired = {6, 7}});
  known.Listed({.name = "catalog", .service = "shop/catalog", .means = {{1, kMeant}, {2, kNot}}});
  EXPECT_EQ(Decide(known, {10, kEstablished}).verdict.certainty, kSure);
  const Judgement silent = Decide(known, {10, kAbandoned});
  EXPECT_EQ(silent.verdict.destination, kReused);
  EXPECT_EQ(silent.verdict.certainty, kGuess);
  EXPECT_TRUE(silent.wants.node_news);
  EXPECT_EQ(Decide(known, {10, kAbandoned}, {.node_fell_silent = true}).verdict.destination, kDead);
}

TEST(Rule6Test, ANodeThatFellSilentTookItsPodsWithIt) {
  JudgeContext lost;
  lost.node_fell_silent = true;
  const Verdict silent = Decide(LivePod(), {10, kAbandoned}, lost).verdict;
  EXPECT_EQ(silent.destination, kDead);
  EXPECT_EQ(silent.certainty, kGuess);
  EXPECT_EQ(silent.last_holder, static_cast<PodHandle>(1));
  EXPECT_EQ(silent.dead, At(10));
  for (const Outcome answer : {kEstablished, kRefused}) {
    EXPECT_EQ(Decide(LivePod(), {10, answer}, lost).verdict.destination, kLive);
    EXPECT_EQ(Decide(LivePod(), {10, answer}, lost).verdict.certainty, kSure);
  }
}

TEST(Rule6Test, LiveWithoutAMeaningIsCertainOnlyWithoutAnotherHolder) {
  EvidenceBuilder alone;
  alone.Held({.pod = 1});
  EXPECT_EQ(Decide(alone, {}).verdict.certainty, kSure);
  EvidenceBuilder older = alone;
  older.facts.history_complete = false;
  EXPECT_EQ(Decide(older, {}).verdict.certainty, kGuess);
  EvidenceBuilder listed_before = alone;  // acquired after 1 s
  listed_before.Listed({.name = "pinned", .first_seen = 0.5});
  EXPECT_EQ(Decide(listed_before, {}).verdict.certainty, kGuess);
  EvidenceBuilder unpolled_before = alone;  // a holder older than the agent may be meant
  unpolled_before.Listed({.name = "pinned", .since_first_poll = true});
  EXPECT_EQ(Decide(unpolled_before, {}).verdict.certainty, kSure) << "long after the beginning";
  unpolled_before.soon_after_horizon = true;
  EXPECT_EQ(Decide(unpolled_before, {}).verdict.certainty, kGuess);
  EvidenceBuilder fixed = alone;  // it was given the address once and for all
  fixed.Listed({.name = "pinned", .discovery = Discovery::kStatic, .since_first_poll = true});
  EXPECT_EQ(Decide(fixed, {}).verdict.certainty, kGuess);
  EvidenceBuilder given_later = alone;
  given_later.Listed({.name = "pinned", .discovery = Discovery::kStatic});
  EXPECT_EQ(Decide(given_later, {}).verdict.certainty, kSure);
  EvidenceBuilder remembered = alone;  // a client may name what it resolved before the agent began
  remembered.soon_after_horizon = true;
  EXPECT_EQ(Decide(remembered, {}).verdict.certainty, kGuess);
  EvidenceBuilder polled_before = alone;
  polled_before.soon_after_horizon = true;
  polled_before.Listed({.name = "pinned"});
  EXPECT_EQ(Decide(polled_before, {}).verdict.certainty, kSure);
  EvidenceBuilder second;
  second.Held({.pod = 1, .released = {4, 5}});
  second.Held({.pod = 2, .acquired = {6, 7}});
  EXPECT_EQ(Decide(second, {}).verdict.certainty, kGuess);
  second.Listed({.name = "c", .service = "shop/catalog", .means = {{2, kMeant}}});
  EXPECT_EQ(Decide(second, {}).verdict.certainty, kSure);
}

// The cluster may mean the earlier holder: then the address was reused, not withdrawn.
TEST(Rule6Test, WithdrawnWithoutAMeaningIsCertainOnlyWithoutAnotherHolder) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {2, 2.2}});
  known.Held({.pod = 2, .acquired = {2.5, 3}, .withdrawn = {4, 4.5}});
  EXPECT_EQ(Decide(known, {}).verdict.certainty, kSure) << "a client named it";
  known.Listed({.name = "pinned", .discovery = Discovery::kStatic});
  EXPECT_EQ(Decide(known, {}).verdict.destination, kWithdrawn);
  EXPECT_EQ(Decide(known, {}).verdict.certainty, kGuess);
}

TEST(Rule6Test, NothingBehindTheWatermarkIsCertain) {
  JudgeContext early;
  early.before_watermark = true;
  for (const EvidenceBuilder& known : {LivePod(), DeadPodOfCatalog(), WithdrawnPod()}) {
    EXPECT_EQ(Decide(known, {10, kRefused}, early).verdict.certainty, kGuess);
  }
  EvidenceBuilder node;
  node.facts.node_address = true;
  EXPECT_EQ(Decide(node, {}, early).verdict.certainty, kGuess);
}

TEST(Rule6Test, NothingIsCertainWithoutThePollItWaitedFor) {
  JudgeContext missing;
  missing.poll_missing = true;
  EXPECT_EQ(Decide(DeadPodOfCatalog(), {10, kRefused}, missing).verdict.certainty, kGuess);
}

// A pod that was force-deleted before the agent began may refuse: nobody ever tells of it.
TEST(Rule6Test, ARefusalFromAnAddressThatNobodyIsKnownToHaveHeldIsNeverCertain) {
  EvidenceBuilder known;
  known.facts.in_pod_range = known.facts.pod_ranges_known = true;
  known.Listed({.name = "catalog", .service = "shop/catalog"});
  EXPECT_EQ(Decide(known, {10, kRefused}).verdict.destination, kDead);
  EXPECT_EQ(Decide(known, {10, kRefused}).verdict.certainty, kGuess);
  EXPECT_EQ(Decide(known, {10, kAbandoned}).verdict.certainty, kSure);
}

TEST(WantsTest, AFailureAtAWithdrawnPodWaitsForItsEnd) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {5, kNever}, .withdrawn = {3, 3.5}, .end_untold = true});
  EXPECT_TRUE(Decide(known, {10, kRefused}).wants.pod_end);
  EXPECT_TRUE(Decide(known, {10, kAbandoned}).wants.pod_end);
  EXPECT_FALSE(Decide(known, {10, kEstablished}).wants.pod_end);
  EXPECT_FALSE(Decide(known, {10, kEstablished, 1}).wants.pod_end) << "it did not fail";
  EXPECT_FALSE(Decide(known, {4, kRefused}).wants.pod_end) << "surely alive: no news can matter";
  EvidenceBuilder told;
  told.Held({.pod = 1, .released = {5, 12}, .withdrawn = {3, 3.5}});
  EXPECT_FALSE(Decide(told, {10, kRefused}).wants.pod_end);
}

TEST(WantsTest, SilenceOfALivePodWaitsForNewsOfItsNode) {
  EXPECT_TRUE(Decide(LivePod(), {10, kAbandoned}).wants.node_news);
  EXPECT_TRUE(Decide(LivePod(), {10, kTimedOut}).wants.node_news);
  EXPECT_FALSE(Decide(LivePod(), {10, kRefused}).wants.node_news);
  EXPECT_FALSE(Decide(DeadPodOfCatalog(), {10, kAbandoned}).wants.node_news);
}

TEST(WantsTest, APollIsWantedWhereNoBeliefExplains) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  known.answered_after = false;
  EXPECT_TRUE(Decide(known, {10, kAbandoned}).wants.poll);
  EXPECT_FALSE(
      Decide(known, {.syn = 10, .outcome = kAbandoned, .initiator = Initiator::kApplication})
          .wants.poll)
      << "never for BYPASS";
  EvidenceBuilder answered = known;
  answered.answered_after = true;
  EXPECT_FALSE(Decide(answered, {10, kAbandoned}).wants.poll);
  EvidenceBuilder nobody_to_ask = known;
  nobody_to_ask.proxy_known = false;
  EXPECT_FALSE(Decide(nobody_to_ask, {10, kAbandoned}).wants.poll);
  EvidenceBuilder explained = known;
  explained.Listed({.name = "c", .service = "shop/catalog"});
  EXPECT_FALSE(Decide(explained, {10, kAbandoned}).wants.poll);
  EvidenceBuilder external;
  external.answered_after = false;
  EXPECT_FALSE(Decide(external, {}).wants.poll) << "no pod ever held it";
}

TEST(WantsTest, APollIsWantedWhereTheAddressMayBeReused) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  known.Held({.pod = 2, .acquired = {6, 7}});
  known.Listed({.name = "c", .service = "shop/catalog", .means = {{2, kNot}}});
  known.answered_after = false;
  EXPECT_TRUE(Decide(known, {}).wants.poll);
}

TEST(WantsTest, AnUnexplainedPodThatNobodyElseEverWasNeedsNoPoll) {
  EvidenceBuilder known;
  known.Held({.pod = 1});
  known.answered_after = false;
  EXPECT_FALSE(Decide(known, {}).wants.poll);
  known.facts.history_complete = false;
  EXPECT_TRUE(Decide(known, {}).wants.poll);
}

}  // namespace
}  // namespace phantomd::testing
