// Rule 3: which Service the proxy meant.
#include <gtest/gtest.h>

#include "tests/verdict/evidence_builder.h"

namespace phantomd::testing {
namespace {

// Pod 1 of shop/catalog died at 20 s; pod 2, of another Service, has its address since 30 s.
EvidenceBuilder ReusedAddress() {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {19, 20}, .withdrawn = {10, 11}});
  known.Held({.pod = 2, .acquired = {29, 30}});
  return known;
}

const Cluster kCatalog{
    .name = "catalog", .service = "shop/catalog", .means = {{1, kMeant}, {2, kNot}}};
const Cluster kOther{.name = "other", .service = "shop/other", .means = {{1, kNot}, {2, kMeant}}};

TEST(Rule3Test, APodThatTheServiceNeverListedIsReused) {
  EvidenceBuilder known = ReusedAddress();
  known.Listed(kCatalog);
  const Verdict verdict = Decide(known, {40, kEstablished}).verdict;
  EXPECT_EQ(verdict.destination, kReused);
  EXPECT_EQ(verdict.certainty, kSure);
  EXPECT_EQ(verdict.current_holder, static_cast<PodHandle>(2));
  EXPECT_EQ(verdict.last_holder, static_cast<PodHandle>(1));
  EXPECT_EQ(verdict.dead, At(19.9));
  EXPECT_EQ(verdict.withdrawn, At(10.9));
}

TEST(Rule3Test, APodThatTheServiceListedIsMeant) {
  EvidenceBuilder known = ReusedAddress();
  known.Listed(kOther);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.certainty, kSure);
}

TEST(Rule3Test, ReusedHoldsAlsoWhileTheNewHolderIsWithdrawn) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {19, 20}});
  known.Held({.pod = 2, .acquired = {29, 30}, .withdrawn = {35, 36}});
  known.Listed(kCatalog);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.destination, kReused);
}

TEST(Rule3Test, NoServiceIsNoOpinion) {
  EvidenceBuilder known = ReusedAddress();
  known.Listed({.name = "static", .service = "", .means = {{2, kNot}}});
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.certainty, kGuess);
}

TEST(Rule3Test, ABrokenSliceFeedIsNoOpinion) {
  EvidenceBuilder known = ReusedAddress();
  known.facts.slices_broken = true;
  known.Listed(kCatalog);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.certainty, kGuess);
}

TEST(Rule3Test, NeverAppliesToBypass) {
  EvidenceBuilder known = ReusedAddress();
  known.Listed(kCatalog);
  const Verdict verdict = Decide(known, {.syn = 40, .initiator = Initiator::kApplication}).verdict;
  EXPECT_EQ(verdict.destination, kLive);
  EXPECT_EQ(verdict.certainty, kGuess);
}

TEST(Rule3Test, NeverAppliesToOriginalDstWithoutAService) {
  EvidenceBuilder known = ReusedAddress();
  known.Listed({.name = "PassthroughCluster",
                .service = "",
                .means = {{2, kNot}},
                .discovery = Discovery::kOriginalDst,
                .hold = Hold::kHostSet});
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.destination, kLive);
}

TEST(Rule3Test, ClustersThatDisagreeAreSeveralPossibilities) {
  EvidenceBuilder known = ReusedAddress();
  known.Listed(kOther).Listed(kCatalog);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.certainty, kGuess);
}

TEST(Rule3Test, ConnectCountsTellWhichClusterWasUsed) {
  for (const bool catalog_used : {true, false}) {
    EvidenceBuilder known = ReusedAddress();
    Cluster catalog = kCatalog, other = kOther;
    catalog.connects = catalog_used ? 2 : 0;
    other.connects = catalog_used ? 0 : 1;
    known.Listed(other).Listed(catalog);
    const Verdict verdict = Decide(known, {40, kEstablished}).verdict;
    EXPECT_EQ(verdict.destination, catalog_used ? kReused : kLive);
    EXPECT_EQ(verdict.certainty, kSure);
    EXPECT_EQ(verdict.cluster, catalog_used ? "catalog" : "other");
  }
}

TEST(Rule3Test, CountsThatAllStoodStillTellNothing) {
  EvidenceBuilder known = ReusedAddress();
  Cluster catalog = kCatalog, other = kOther;
  catalog.connects = other.connects = 0;
  known.Listed(other).Listed(catalog);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.certainty, kGuess);
}

TEST(Rule3Test, OnlyASnapshotReceivedBeforeTheSynIsEarlierBelief) {
  EvidenceBuilder known = ReusedAddress();
  Cluster later = kOther;
  later.before = false;
  known.Listed(later).Listed(kCatalog);
  const Verdict verdict = Decide(known, {40, kEstablished}).verdict;
  EXPECT_EQ(verdict.destination, kReused);
  EXPECT_EQ(verdict.certainty, kGuess);
}

TEST(Rule3Test, ABeliefSeenOnBothSidesOfTheSynIsTheMoreCredible) {
  EvidenceBuilder known = ReusedAddress();
  Cluster leaving = kCatalog;
  leaving.last_seen = 38;
  known.Listed(leaving).Listed(kOther);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known, {40, kEstablished}).verdict.certainty, kGuess);
}

TEST(Rule3Test, ADroppedBeliefTellsWhatWasMeantButNotSurely) {
  EvidenceBuilder known = ReusedAddress();
  Cluster dropped = kCatalog;
  dropped.hold = Hold::kDropped;
  dropped.gone_by = 35;
  known.Listed(dropped);
  const Verdict verdict = Decide(known, {40, kEstablished}).verdict;
  EXPECT_EQ(verdict.destination, kReused);
  EXPECT_EQ(verdict.certainty, kGuess);
  EXPECT_EQ(verdict.cause, Cause::kAfterRemoval);
  EXPECT_EQ(Decide(known, {96, kEstablished}).verdict.destination, kLive);
}

TEST(Rule3Test, TheStaleHolderHadEndedByTheSyn) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {19, 20}});
  known.Held({.pod = 2, .acquired = {21, 25}});
  const Verdict verdict = Decide(known, {22, kAbandoned}).verdict;
  EXPECT_EQ(verdict.destination, kDead);
  EXPECT_EQ(verdict.last_holder, static_cast<PodHandle>(1))
      << "2 may hold it by now, but is not dead";
}

TEST(Rule3Test, TheStaleHolderIsNotTheOneThatHoldsIt) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {19, 20}});
  known.Held({.pod = 2, .acquired = {29, 30}, .released = {39, 45}});
  known.Listed({.name = "catalog", .service = "shop/catalog", .means = {{2, kNot}}});
  const Verdict verdict = Decide(known, {40, kEstablished}).verdict;
  EXPECT_EQ(verdict.destination, kReused);
  EXPECT_EQ(verdict.last_holder, static_cast<PodHandle>(1));
}

TEST(Rule3Test, TheStaleHolderIsTheOneThatWasMeant) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {19, 20}});
  known.Held({.pod = 3, .acquired = {21, 22}, .released = {25, 26}});
  known.Listed({.name = "catalog", .service = "shop/catalog", .means = {{1, kMeant}, {3, kNot}}});
  const Verdict verdict = Decide(known, {30, kAbandoned}).verdict;
  EXPECT_EQ(verdict.destination, kDead);
  EXPECT_EQ(verdict.last_holder, static_cast<PodHandle>(1));
}

// Pod 3 held the address too and its cluster dropped it in time: it is not what was missed.
TEST(Rule3Test, TheStaleHolderIsTheOneThatTheUsedClusterMeant) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {19, 20}});
  known.Held({.pod = 3, .acquired = {21, 22}, .released = {25, 26}});
  known.Listed({.name = "catalog", .service = "shop/catalog", .means = {{1, kMeant}, {3, kNot}}});
  known.Listed({.name = "billing",
                .service = "shop/billing",
                .means = {{1, kNot}, {3, kMeant}},
                .hold = Hold::kDropped,
                .gone_by = 25});
  EXPECT_EQ(Decide(known, {30, kAbandoned}).verdict.last_holder, static_cast<PodHandle>(1));
}

// The address went from one Service to another, and this connection may have been a retry of the
// first one's.
TEST(Rule3Test, AClusterThatDroppedItLatelyMayHaveBeenUsed) {
  const auto known = [](int64_t connects) {
    EvidenceBuilder out;
    out.Held({.pod = 1, .released = {4, 5}});
    out.Held({.pod = 2, .acquired = {6, 7}});
    out.Listed({.name = "billing",
                .service = "shop/billing",
                .means = {{2, kMeant}},
                .connects = connects});
    out.Listed({.name = "catalog",
                .service = "shop/catalog",
                .means = {{1, kMeant}, {2, kNot}},
                .hold = Hold::kDropped,
                .gone_by = 8});
    return out;
  };
  EXPECT_EQ(Decide(known(-1), {10}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known(-1), {10}).verdict.certainty, kGuess);
  EXPECT_EQ(Decide(known(1), {10}).verdict.certainty, kGuess) << "there may have been two";
  EXPECT_EQ(Decide(known(1), {19}).verdict.certainty, kSure) << "too late for a retry";
  EXPECT_EQ(Decide(known(-1), {19}).verdict.certainty, kGuess);
  EXPECT_EQ(Decide(known(-1), {69}).verdict.certainty, kSure) << "a minute later";
}

TEST(Rule3Test, LiveIsCertainOnlyIfEveryClusterThatMayHaveBeenUsedMeansThePod) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}});
  known.Held({.pod = 2, .acquired = {6, 7}});
  known.Listed({.name = "billing", .service = "shop/billing", .means = {{2, kMeant}}});
  EXPECT_EQ(Decide(known, {10}).verdict.certainty, kSure);
  known.Listed({.name = "pinned", .discovery = Discovery::kStatic});
  EXPECT_EQ(Decide(known, {10}).verdict.destination, kLive);
  EXPECT_EQ(Decide(known, {10}).verdict.certainty, kGuess);
  EXPECT_FALSE(Decide(known, {10}).wants.poll);
  known.answered_after = false;
  EXPECT_TRUE(Decide(known, {10}).wants.poll) << "its counts may tell which was used";
}

}  // namespace
}  // namespace phantomd::testing
