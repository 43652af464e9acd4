// Clauses of the rules that decide only where little else is known: each is here because without it
// every other test would still pass.
#include <gtest/gtest.h>

#include "tests/verdict/evidence_builder.h"

namespace phantomd::testing {
namespace {

// Nobody was told of all pods, where there are none.
EvidenceBuilder InAGapOutsideTheRanges() {
  EvidenceBuilder known;
  known.facts.untold = UntoldReason::kFeedBroken;
  known.facts.pods_broken = true;
  known.facts.pod_ranges_known = known.facts.no_pod_address = true;
  return known;
}

TEST(Rule1Test, AnUntoldPodIsNowhereOnANodesAddress) {
  EvidenceBuilder known;
  known.facts.untold = UntoldReason::kAddressUntold;
  known.facts.node_address = true;
  EXPECT_EQ(Decide(known, {}).verdict.destination, kExternal);
  EXPECT_EQ(Decide(known, {}).verdict.certainty, kSure);
}

TEST(Rule1Test, AnUntoldPodMayBeWhereAPodOnceWasWhateverTheRanges) {
  EvidenceBuilder held = InAGapOutsideTheRanges();
  held.Held({.pod = 1, .released = {4, 5}});
  EXPECT_EQ(Decide(held, {10, kAbandoned}).verdict.certainty, kGuess);
  held.facts.pods_broken = false;  // mended since, but another gap hides pods: the reason tells
  const Verdict answered = Decide(held, {10, kEstablished}).verdict;
  EXPECT_EQ(answered.destination, kUnknown);
  EXPECT_EQ(answered.unknown_reason, UnknownReason::kFeedGap);

  EvidenceBuilder listed = InAGapOutsideTheRanges();
  listed.facts.pods_broken = false;
  listed.facts.listed_with_pod = true;
  EXPECT_EQ(Decide(listed, {10, kEstablished}).verdict.unknown_reason, UnknownReason::kFeedGap);
}

TEST(Rule3Test, OfTwoThatDroppedItTheLatestRemovalExplains) {
  for (const bool catalog_latest : {true, false}) {
    EvidenceBuilder known;
    known.Held({.pod = 1, .released = {19, 20}});
    known.Held({.pod = 2, .acquired = {29, 30}});
    known.Listed({.name = "catalog",
                  .service = "shop/catalog",
                  .means = {{1, kMeant}, {2, kNot}},
                  .hold = Hold::kDropped,
                  .gone_by = catalog_latest ? 38.0 : 35.0});
    known.Listed({.name = "other",
                  .service = "shop/other",
                  .means = {{1, kNot}, {2, kMeant}},
                  .hold = Hold::kDropped,
                  .gone_by = catalog_latest ? 35.0 : 38.0});
    const Verdict verdict = Decide(known, {40, kEstablished}).verdict;
    EXPECT_EQ(verdict.destination, catalog_latest ? kReused : kLive);
    EXPECT_EQ(verdict.certainty, kGuess);
  }
}

// Its hosts are what clients asked for: that it let go of one says nothing of a later connection.
TEST(Rule3Test, AnOriginalDstClusterThatDroppedItTellsNothing) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {19, 20}});
  known.Held({.pod = 2, .acquired = {29, 30}});
  known.Listed({.name = "db",
                .service = "shop/db",
                .means = {{1, kMeant}, {2, kNot}},
                .discovery = Discovery::kOriginalDst,
                .hold = Hold::kDropped,
                .gone_by = 38});
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.certainty, kGuess);
}

TEST(Rule6Test, WhatAClientNamedMeansNoOtherPodThanTheWithdrawnOne) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  known.Held({.pod = 2, .acquired = {6, 7}, .withdrawn = {8, 9}});
  EvidenceBuilder client = known, cluster = known;
  client.Listed(
      {.name = "PassthroughCluster", .discovery = Discovery::kOriginalDst, .hold = Hold::kHostSet});
  cluster.Listed({.name = "static", .discovery = Discovery::kStatic});
  for (const EvidenceBuilder& named : {known, client}) {
    EXPECT_EQ(Decide(named, {10, kEstablished}).verdict.destination, kWithdrawn);
    EXPECT_EQ(Decide(named, {10, kEstablished}).verdict.certainty, kSure);
  }
  EXPECT_EQ(Decide(cluster, {10, kEstablished}).verdict.certainty, kGuess);
}

TEST(Rule4Test, MetadataTellsNothingWhileTheMeshsNameOfThisClusterIsUnknown) {
  EvidenceBuilder known;
  known.Listed({.name = "c", .service = "shop/catalog", .mesh_cluster = "east"});
  EXPECT_EQ(Decide(known, {10, kAbandoned}).verdict.destination, kDead);
}

TEST(Rule5Test, OfTwoThatLikelyHoldItTheNewerDoes) {
  EvidenceBuilder known;
  known.Held({.pod = 1});  // nobody has told its end yet
  known.Held({.pod = 2, .acquired = {6, 7}});
  EXPECT_EQ(Decide(known, {10, kEstablished}).verdict.current_holder, static_cast<PodHandle>(2));
}

TEST(Rule5Test, OnlyARefusalTellsOfTheNextHoldersNamespace) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  known.Held({.pod = 2, .acquired = {4, 10}});  // likely from 9.9 s
  EXPECT_EQ(Decide(known, {7, kRefused}).verdict.current_holder, static_cast<PodHandle>(2));
  EXPECT_EQ(Decide(known, {7, kLocalError}).verdict.destination, kDead);
}

// Where news usually takes longer than a network namespace outlives its containers.
TEST(Rule5Test, ARefusalBehindTheHoldersOwnLikelyEndIsNotTheNextOnes) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 12}, .withdrawn = {3, 3.5}});
  const Attempt attempt = Connect{.syn = 10, .outcome = kRefused}.attempt();
  Evidence evidence = known.Build(attempt.started);
  evidence.address.holders[0].tenancy.likely_released = At(8);
  evidence.address.last.likely_released = At(8);
  EXPECT_EQ(Eliminate(attempt, evidence, {}).verdict.destination, kDead);
}

TEST(Rule5Test, SomebodyUnknownWhoAnsweredInAGapIsTheGaps) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  EXPECT_EQ(Decide(known, {10, kEstablished}).verdict.unknown_reason, UnknownReason::kStartRace);
  known.facts.pods_broken = true;
  EXPECT_EQ(Decide(known, {10, kEstablished}).verdict.unknown_reason, UnknownReason::kFeedGap);
}

// A dynamic forward proxy or a Redis cluster resolves names.
TEST(CauseTest, ACustomClusterThatListsAddressesIsDns) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  known.Listed({.name = "forward", .discovery = Discovery::kCustom});
  EXPECT_EQ(Decide(known, {10, kAbandoned}).verdict.cause, Cause::kStaleDns);
}

TEST(CauseTest, DnsComesBeforeStaticConfigBeforeWhatWasListedAgain) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  known.Listed({.name = "back", .before = false, .left_before = 8});
  const auto cause = [&] { return Decide(known, {10, kAbandoned}).verdict.cause; };
  EXPECT_EQ(cause(), Cause::kAfterRemoval);
  known.Listed({.name = "static", .discovery = Discovery::kStatic});
  EXPECT_EQ(cause(), Cause::kStaticConfig);
  known.Listed({.name = "dns", .discovery = Discovery::kStrictDns});
  EXPECT_EQ(cause(), Cause::kStaleDns);
}

}  // namespace
}  // namespace phantomd::testing
