// Rules 1, 2 and 4: who may have held the address, what the connection proves, and the class of
// each possibility.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/verdict/evidence_builder.h"

namespace phantomd::testing {
namespace {

struct InstantRow {
  const char* rule;
  Connect connect;
  DestinationClass destination;
  Certainty certainty;
};

void PrintTo(const InstantRow& row, std::ostream* os) { *os << row.rule; }

// One pod: acquired in [1 s, 2 s], withdrawn in [10 s, 12 s], released in [20 s, 22 s].
EvidenceBuilder OnePod() {
  EvidenceBuilder known;
  known.Held({.pod = 1, .acquired = {1, 2}, .released = {20, 22}, .withdrawn = {10, 12}});
  return known;
}

class OnePodTest : public ::testing::TestWithParam<InstantRow> {};

TEST_P(OnePodTest, ClassFollowsFromBoundsAndOutcome) {
  const InstantRow& row = GetParam();
  const Verdict verdict = Decide(OnePod(), row.connect).verdict;
  EXPECT_EQ(verdict.destination, row.destination);
  EXPECT_EQ(verdict.certainty, row.certainty);
}

INSTANTIATE_TEST_SUITE_P(
    EveryInstant, OnePodTest,
    ::testing::Values(
        InstantRow{"before the outer bound nobody held it", {0.9, kRefused}, kDead, kSure},
        InstantRow{"at the outer bound both, likely nobody", {1, kRefused}, kDead, kGuess},
        InstantRow{"inside the acquisition, answered: the pod", {1, kEstablished}, kLive, kSure},
        InstantRow{
            "inside it, answered late: proves nothing", {1.5, kEstablished, 1}, kDead, kGuess},
        InstantRow{"inside it, likely acquired", {1.95, kRefused}, kLive, kGuess},
        InstantRow{"at the inner bound the pod is sure", {2, kRefused}, kLive, kSure},
        InstantRow{"sure and silent: its node may be gone", {5, kTimedOut}, kLive, kGuess},
        InstantRow{"just before the withdrawal", {9.999, kEstablished}, kLive, kSure},
        InstantRow{"inside the withdrawal, likely before", {10, kEstablished}, kLive, kGuess},
        InstantRow{
            "inside the withdrawal, likely after", {11.95, kEstablished}, kWithdrawn, kGuess},
        InstantRow{"withdrawn and answering", {12, kEstablished}, kWithdrawn, kSure},
        InstantRow{"withdrawn and refusing", {15, kRefused}, kWithdrawn, kSure},
        InstantRow{"withdrawn and silent", {15, kAbandoned}, kWithdrawn, kGuess},
        InstantRow{"just before the release", {19.999, kRefused}, kWithdrawn, kSure},
        InstantRow{"inside the release, silent: nobody first", {20, kAbandoned}, kDead, kGuess},
        InstantRow{"inside it, timed out", {20, kTimedOut}, kDead, kGuess},
        InstantRow{"inside it, unreachable", {20, kUnreachable}, kDead, kGuess},
        InstantRow{"inside it, no route", {20, kNoRoute}, kDead, kGuess},
        InstantRow{
            "inside it, answered at once: it was there", {21, kEstablished}, kWithdrawn, kSure},
        InstantRow{"inside it, answered late", {21, kEstablished, 1}, kDead, kGuess},
        InstantRow{"inside it, refused, likely before the end", {20, kRefused}, kWithdrawn, kGuess},
        InstantRow{"inside it, refused, likely after the end", {21.95, kRefused}, kDead, kGuess},
        InstantRow{"inside it, a local error says nothing", {20, kLocalError}, kWithdrawn, kGuess},
        InstantRow{"at the outer bound still both", {22, kAbandoned}, kDead, kGuess},
        InstantRow{"after it nobody", {22.001, kRefused}, kDead, kSure},
        InstantRow{"long after", {5000, kAbandoned}, kDead, kSure}));

TEST(Rule1Test, NobodyIsPossibleUnlessAPodIsSure) {
  EXPECT_EQ(Decide(OnePod(), {19.9, kRefused}).verdict.certainty, kSure);
  EXPECT_EQ(Decide(OnePod(), {20.1, kRefused}).verdict.certainty, kGuess);
}

TEST(Rule1Test, AnUntoldPodIsPossibleForItsReason) {
  const std::pair<UntoldReason, UnknownReason> rows[] = {
      {UntoldReason::kFeedBroken, UnknownReason::kFeedGap},
      {UntoldReason::kBeforeFirstSync, UnknownReason::kBeforeHorizon},
      {UntoldReason::kAddressUntold, UnknownReason::kStartRace}};
  for (const auto& [untold, reason] : rows) {
    EvidenceBuilder known = OnePod();
    known.facts.untold = untold;
    // Somebody answered, and the only pod told of was gone by then.
    const Verdict verdict = Decide(known, {30, kEstablished}).verdict;
    EXPECT_EQ(verdict.destination, kUnknown);
    EXPECT_EQ(verdict.unknown_reason, reason);
    EXPECT_EQ(verdict.certainty, Certainty::kUnspecified);
    // Silence: nobody is the likelier, but not for certain.
    EXPECT_EQ(Decide(known, {30, kAbandoned}).verdict.destination, kDead);
    EXPECT_EQ(Decide(known, {30, kAbandoned}).verdict.certainty, kGuess);
  }
}

TEST(Rule1Test, ASurePodExcludesAnUntoldOne) {
  EvidenceBuilder known = OnePod();
  known.facts.untold = UntoldReason::kAddressUntold;
  EXPECT_EQ(Decide(known, {5, kEstablished}).verdict.certainty, kSure);
  EXPECT_EQ(Decide(known, {21, kEstablished}).verdict.certainty, kGuess);
}

// Outside the ranges that are told there may be one of which nobody told yet.
TEST(Rule1Test, AnUntoldPodIsNowhereOutsideTheBlocksOfPods) {
  EvidenceBuilder known;
  known.facts.untold = UntoldReason::kFeedBroken;
  known.facts.pod_ranges_known = known.facts.no_pod_address = true;
  EXPECT_EQ(Decide(known, {}).verdict.destination, kExternal);
  EXPECT_EQ(Decide(known, {}).verdict.certainty, kSure);
  known.facts.no_pod_address = false;
  EXPECT_EQ(Decide(known, {}).verdict.destination, kExternal);
  EXPECT_EQ(Decide(known, {}).verdict.certainty, kGuess);
  known.facts.in_pod_range = true;
  EXPECT_EQ(Decide(known, {}).verdict.destination, kUnknown);
  EXPECT_EQ(Decide(known, {}).verdict.unknown_reason, UnknownReason::kFeedGap);
}

TEST(Rule2Test, AnAnswerWithoutRetransmissionExcludesNobody) {
  EXPECT_EQ(Decide(OnePod(), {21, kEstablished, 0}).verdict.destination, kWithdrawn);
  EXPECT_EQ(Decide(OnePod(), {21, kEstablished, 0}).verdict.certainty, kSure);
}

TEST(Rule2Test, AnAnswerAfterARetransmissionProvesNothing) {
  EXPECT_EQ(Decide(OnePod(), {25, kEstablished, 1}).verdict.destination, kDead);
  EXPECT_EQ(Decide(OnePod(), {25, kEstablished, 1}).verdict.certainty, kSure);
}

TEST(Rule2Test, SomebodyOfWhomWeKnowNothingAnswered) {
  const Verdict verdict = Decide(OnePod(), {25, kEstablished, 0}).verdict;
  EXPECT_EQ(verdict.destination, kUnknown);
  EXPECT_EQ(verdict.unknown_reason, UnknownReason::kStartRace);
  EXPECT_EQ(verdict.last_holder, static_cast<PodHandle>(1));
}

TEST(Rule2Test, OfTwoPossibleHoldersTheNearerAnswered) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {20, 22}, .withdrawn = {10, 12}});
  known.Held({.pod = 2, .acquired = {21, 23}});
  EXPECT_EQ(Decide(known, {21.7, kEstablished}).verdict.current_holder, static_cast<PodHandle>(1));
  EXPECT_EQ(Decide(known, {22.0, kEstablished}).verdict.current_holder, static_cast<PodHandle>(1));
  EXPECT_EQ(Decide(known, {22.0, kEstablished}).verdict.certainty, kGuess);
  EXPECT_EQ(Decide(known, {22.5, kEstablished}).verdict.current_holder, static_cast<PodHandle>(2));
}

TEST(Rule4Test, InsideTheWithdrawnBoundsBothClassesArePossible) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .withdrawn = {10, 12}});
  EXPECT_EQ(Decide(known, {9.9}).verdict.certainty, kSure);
  EXPECT_EQ(Decide(known, {10.1}).verdict.certainty, kGuess);
  EXPECT_EQ(Decide(known, {11.8}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known, {11.95}).verdict.destination, kWithdrawn);
  EXPECT_EQ(Decide(known, {12}).verdict.certainty, kSure);
}

struct NeverHeldRow {
  const char* rule;
  bool node = false, listed_without_pod = false, listed_with_pod = false, in_range = false,
       ranges_known = false, no_pods = false;
  DestinationClass destination = kExternal;
  Certainty certainty = kGuess;
};

TEST(Rule4Test, AnAddressThatNoPodEverHeld) {
  const NeverHeldRow rows[] = {
      {.rule = "nothing known", .certainty = kGuess},
      {.rule = "outside all known ranges", .ranges_known = true, .certainty = kGuess},
      {.rule = "in a block without pods",
       .ranges_known = true,
       .no_pods = true,
       .certainty = kSure},
      {.rule = "a Node's",
       .node = true,
       .in_range = true,
       .ranges_known = true,
       .certainty = kSure},
      {.rule = "manual endpoints", .listed_without_pod = true, .certainty = kGuess},
      {.rule = "manual, in a range",
       .listed_without_pod = true,
       .in_range = true,
       .ranges_known = true,
       .certainty = kGuess},
      {.rule = "listed with a pod",
       .listed_with_pod = true,
       .destination = kDead,
       .certainty = kSure},
      {.rule = "in a pod range",
       .in_range = true,
       .ranges_known = true,
       .destination = kDead,
       .certainty = kSure},
  };
  for (const NeverHeldRow& row : rows) {
    EvidenceBuilder known;
    known.facts.node_address = row.node;
    known.facts.listed_without_pod = row.listed_without_pod;
    known.facts.listed_with_pod = row.listed_with_pod;
    known.facts.in_pod_range = row.in_range;
    known.facts.pod_ranges_known = row.ranges_known;
    known.facts.no_pod_address = row.no_pods;
    const Verdict verdict = Decide(known, {10, kAbandoned}).verdict;
    EXPECT_EQ(verdict.destination, row.destination) << row.rule;
    EXPECT_EQ(verdict.certainty, row.certainty) << row.rule;
  }
}

TEST(Rule4Test, AnEndpointOfAnotherClusterIsUnknown) {
  EvidenceBuilder other_mesh_cluster;
  other_mesh_cluster.Listed({.name = "c", .service = "shop/catalog", .mesh_cluster = "east"});
  JudgeContext here;
  here.mesh_cluster = "west";
  EvidenceBuilder unlisted_service;
  unlisted_service.Listed({.name = "c", .service = "shop/remote", .service_known = false});
  EvidenceBuilder outside;
  outside.facts.pod_ranges_known = true;
  outside.Listed({.name = "c", .service = "shop/catalog"});
  for (const EvidenceBuilder* known : {&other_mesh_cluster, &unlisted_service, &outside}) {
    for (const Outcome outcome : {kEstablished, kAbandoned}) {
      const Verdict verdict = Decide(*known, {10, outcome}, here).verdict;
      EXPECT_EQ(verdict.destination, kUnknown);
      EXPECT_EQ(verdict.unknown_reason, UnknownReason::kRemoteCluster);
    }
  }
  here.mesh_cluster = "east";
  EXPECT_EQ(Decide(other_mesh_cluster, {10, kAbandoned}, here).verdict.destination, kDead);
}

TEST(Rule4Test, AStaleEndpointOfAKnownServiceDiedBeforeTheAgentBegan) {
  EvidenceBuilder known;
  known.Listed({.name = "c", .service = "shop/catalog"});
  const Verdict verdict = Decide(known, {10, kAbandoned}).verdict;
  EXPECT_EQ(verdict.destination, kDead);
  EXPECT_EQ(verdict.certainty, kGuess);
}

TEST(Rule4Test, AStaticEndpointOutsideAnyServiceIsExternal) {
  EvidenceBuilder known;
  known.facts.pod_ranges_known = known.facts.no_pod_address = true;
  known.Listed({.name = "api", .service = "", .discovery = Discovery::kStrictDns});
  EXPECT_EQ(Decide(known, {}).verdict.destination, kExternal);
  EXPECT_EQ(Decide(known, {}).verdict.certainty, kSure);
}

}  // namespace
}  // namespace phantomd::testing
