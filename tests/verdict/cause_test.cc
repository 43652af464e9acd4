// Why the proxy connected there, through which cluster, on which layer.
#include <gtest/gtest.h>

#include "tests/verdict/evidence_builder.h"

namespace phantomd::testing {
namespace {

EvidenceBuilder DeadPod() {
  EvidenceBuilder known;
  known.Held({.pod = 1, .released = {4, 5}, .withdrawn = {3, 3.5}});
  return known;
}

Verdict Silent(const EvidenceBuilder& known, double syn = 10) {
  return Decide(known, {syn, kAbandoned}).verdict;
}

TEST(CauseTest, FollowsFromDiscoveryAndHold) {
  const struct {
    Discovery discovery;
    Hold hold;
    Cause cause;
  } rows[] = {
      {Discovery::kEds, Hold::kAssigned, Cause::kStaleEds},
      {Discovery::kEds, Hold::kHostSet, Cause::kHeldByProxy},
      {Discovery::kStrictDns, Hold::kAssigned, Cause::kStaleDns},
      {Discovery::kLogicalDns, Hold::kAssigned, Cause::kStaleDns},
      {Discovery::kStatic, Hold::kAssigned, Cause::kStaticConfig},
      {Discovery::kOriginalDst, Hold::kHostSet, Cause::kClientAddress},
  };
  for (const auto& row : rows) {
    EvidenceBuilder known = DeadPod();
    known.Listed({.name = "c", .discovery = row.discovery, .hold = row.hold});
    EXPECT_EQ(Silent(known).cause, row.cause) << static_cast<int>(row.cause);
    EXPECT_EQ(Silent(known).cluster, "c");
  }
}

TEST(CauseTest, AfterRemovalReachesBackSixtySeconds) {
  EvidenceBuilder known = DeadPod();
  known.Listed({.name = "c", .hold = Hold::kDropped, .gone_by = 8});
  EXPECT_EQ(Silent(known, 10).cause, Cause::kAfterRemoval);
  EXPECT_EQ(Silent(known, 68).cause, Cause::kAfterRemoval);
  EXPECT_EQ(Silent(known, 68.001).cause, Cause::kClientAddress);
}

// The poll before the SYN had seen it dropped, the one after it saw it listed again.
TEST(CauseTest, WhatIsListedAgainOnlyAfterTheSynWasUsedAfterItsRemoval) {
  EvidenceBuilder known = DeadPod();
  known.Listed({.name = "c", .before = false, .left_before = 8});
  EXPECT_EQ(Silent(known, 10).cause, Cause::kAfterRemoval);
  EXPECT_EQ(Silent(known, 68.001).cause, Cause::kStaleEds);
}

TEST(CauseTest, NoClusterIsTheClientsOwnAddress) {
  EvidenceBuilder known = DeadPod();
  known.has_original_dst = true;
  known.original_dst_layer = Layer::kL4;
  EXPECT_EQ(Silent(known).cause, Cause::kClientAddress);
  EXPECT_EQ(Silent(known).layer, Layer::kL4);
}

TEST(CauseTest, NoUsableSnapshotIsUnknownBelief) {
  EvidenceBuilder known = DeadPod();
  known.belief_usable = false;
  EXPECT_EQ(Silent(known).cause, Cause::kUnknownBelief);
}

TEST(CauseTest, TheApplicationsOwnConnectionIsBypassWhateverIsListed) {
  EvidenceBuilder known = DeadPod();
  known.belief_usable = false;
  known.Listed({.name = "c"});
  const Verdict verdict =
      Decide(known, {.syn = 10, .outcome = kAbandoned, .initiator = Initiator::kApplication})
          .verdict;
  EXPECT_EQ(verdict.cause, Cause::kBypass);
  EXPECT_EQ(verdict.cluster, "");
  EXPECT_EQ(verdict.layer, Layer::kUnspecified);
}

TEST(CauseTest, OfSeveralClustersTheFirstCauseInOrderCounts) {
  EvidenceBuilder known = DeadPod();
  known.Listed({.name = "static", .discovery = Discovery::kStatic, .layer = Layer::kL7});
  known.Listed({.name = "held", .hold = Hold::kHostSet, .layer = Layer::kL7});
  EXPECT_EQ(Silent(known).cause, Cause::kHeldByProxy);
  known.Listed({.name = "eds", .layer = Layer::kMixed});
  EXPECT_EQ(Silent(known).cause, Cause::kStaleEds);
  EXPECT_EQ(Silent(known).cluster, "eds");
  EXPECT_EQ(Silent(known).layer, Layer::kMixed);
}

TEST(CauseTest, ConnectCountsGoBeforeTheOrder) {
  EvidenceBuilder known = DeadPod();
  known.Listed({.name = "eds", .connects = 0});
  known.Listed({.name = "static", .discovery = Discovery::kStatic, .connects = 1});
  EXPECT_EQ(Silent(known).cause, Cause::kStaticConfig);
}

TEST(CauseTest, AReusedAddressIsExplainedByTheClusterThatMeantAnother) {
  EvidenceBuilder known = DeadPod();
  known.Held({.pod = 2, .acquired = {6, 7}});
  known.Listed(
      {.name = "meant", .service = "shop/other", .means = {{2, Meaning::kMeant}}, .before = false});
  known.Listed({.name = "stale",
                .service = "shop/catalog",
                .means = {{1, Meaning::kMeant}, {2, Meaning::kNotMeant}},
                .hold = Hold::kHostSet});
  const Verdict verdict = Decide(known, {10, kEstablished}).verdict;
  EXPECT_EQ(verdict.destination, DestinationClass::kReused);
  EXPECT_EQ(verdict.cluster, "stale");
  EXPECT_EQ(verdict.cause, Cause::kHeldByProxy);
}

TEST(CauseTest, LiveAndExternalNeedNone) {
  EvidenceBuilder live;
  live.Held({.pod = 1});
  live.Listed({.name = "c", .layer = Layer::kL7});
  EXPECT_EQ(Decide(live, {}).verdict.cause, Cause::kUnspecified);
  EXPECT_EQ(Decide(live, {}).verdict.layer, Layer::kL7);
  EXPECT_EQ(Decide(EvidenceBuilder(), {}).verdict.cause, Cause::kUnspecified);
}

TEST(CauseTest, WithdrawnIsExplainedToo) {
  EvidenceBuilder known;
  known.Held({.pod = 1, .withdrawn = {3, 3.5}});
  known.Listed({.name = "c"});
  EXPECT_EQ(Decide(known, {}).verdict.cause, Cause::kStaleEds);
}

}  // namespace
}  // namespace phantomd::testing
