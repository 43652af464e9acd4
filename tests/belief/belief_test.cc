// Every instant around the edges of what a proxy told.
#include "agent/belief/belief.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "tests/belief/belief_fixture.h"

namespace phantomd {
namespace {

using ::phantomd::testing::Address;
using ::phantomd::testing::At;
using ::phantomd::testing::BeliefScript;
using ::phantomd::testing::Ip;
using ::phantomd::testing::kA;
using ::phantomd::testing::WallAt;

class BeliefTest : public testing::BeliefFixture {};

TEST_F(BeliefTest, BoundsArePollsAndGoneByIsExclusive) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "");
  script_.Changed(40, "web:");
  const struct {
    double t;
    const char* hold;
  } kCases[] = {{10, "assigned"},     {24.9, "assigned"}, {25, "assigned"},    {25.1, "assigned"},
                {39.999, "assigned"}, {40, "dropped"},    {40.001, "dropped"}, {400, "dropped"}};
  for (const auto& c : kCases) EXPECT_EQ(HoldAt(c.t), c.hold) << c.t;
  const ClusterBelief belief = Only(30);
  EXPECT_EQ(belief.first_seen, At(10));
  EXPECT_EQ(belief.last_seen, At(25));  // confirmed by a poll that did not mention it
  EXPECT_EQ(belief.gone_by, At(40));
  EXPECT_EQ(belief.service, "shop/web");
  EXPECT_EQ(belief.discovery, Discovery::kEds);
}

TEST_F(BeliefTest, MayBeHeldFromThePollThatDidNotListItYet) {
  script_.Complete(10, "web:");
  script_.Changed(25, "web: 10.0.0.1:80");
  EXPECT_EQ(HoldAt(9.8), "-");
  EXPECT_EQ(HoldAt(9.9), "assigned");  // the request of the poll at 10
  EXPECT_FALSE(Only(24.9).received_before);
  EXPECT_FALSE(Only(25).received_before);
  EXPECT_TRUE(Only(25.001).received_before);
  EXPECT_EQ(Only(12).first_seen, At(25));
  EXPECT_EQ(Only(12).gone_by, BootTime::Max());
}

TEST_F(BeliefTest, WhatTheFirstPollListedMayBeOlderThanIt) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "web: 10.0.0.1:80 10.0.0.2:80");
  EXPECT_TRUE(Only(30).since_first_poll);
  EXPECT_FALSE(Only(30, "10.0.0.2:80").since_first_poll);
  script_.Changed(40, "web: 10.0.0.2:80");
  script_.Changed(55, "web: 10.0.0.1:80 10.0.0.2:80");
  EXPECT_FALSE(Only(60).since_first_poll) << "it came back";
  for (double t = 70; t < 400; t += 15) script_.Changed(t, "");
  EXPECT_FALSE(Only(390, "10.0.0.2:80").since_first_poll) << "the first one is remembered";
}

TEST_F(BeliefTest, FirstPollSpeaksOfTheHalfMinuteBeforeIt) {
  script_.Complete(100, "web: 10.0.0.1:80");
  EXPECT_EQ(HoldAt(69.9), "-");
  EXPECT_EQ(HoldAt(70), "assigned");
}

TEST_F(BeliefTest, HeldHostsAreToldApartFromAssignedOnes) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "web: 10.0.0.1:80*");
  script_.Changed(40, "web:");
  EXPECT_EQ(HoldAt(24.9), "assigned");
  EXPECT_EQ(HoldAt(25), "host set");
  EXPECT_EQ(HoldAt(39.9), "host set");
  EXPECT_EQ(HoldAt(40), "dropped");
  // One stay, whatever its stretches.
  EXPECT_EQ(Only(12).first_seen, At(10));
  EXPECT_EQ(Only(12).gone_by, At(40));
  EXPECT_EQ(Only(39).first_seen, At(10));
}

TEST_F(BeliefTest, DroppedAndBackAreTwoStays) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "web:");
  script_.Changed(40, "");
  script_.Changed(55, "web: 10.0.0.1:80");
  EXPECT_EQ(Only(24).gone_by, At(25));
  EXPECT_EQ(HoldAt(25), "dropped");
  EXPECT_EQ(HoldAt(39.8), "dropped");
  EXPECT_EQ(HoldAt(39.9), "assigned");  // back some time after the poll that was asked for at 39.9
  EXPECT_EQ(Only(54).first_seen, At(55));
  EXPECT_FALSE(Only(54).received_before);
  EXPECT_TRUE(Only(56).received_before);
}

TEST_F(BeliefTest, RemovedAndMissingClustersLetGo) {
  script_.Complete(10, "web: 10.0.0.1:80; db: 10.0.0.1:81");
  script_.Changed(25, "", "web");
  script_.Complete(40, "other:");
  EXPECT_EQ(Only(12).gone_by, At(25));
  EXPECT_EQ(Only(12, "10.0.0.1:81").gone_by, At(40));
  EXPECT_EQ(Only(12, "10.0.0.1:81").last_seen, At(25));
  EXPECT_EQ(belief_.Facts(script_.proxy()).clusters, 1u);
}

TEST_F(BeliefTest, SeveralClustersComeInOrderOfTheirNames) {
  script_.Complete(10, "web: 10.0.0.1:80; api: 10.0.0.1:80 10.0.0.1:81");
  const BeliefFacts facts = belief_.At(script_.proxy(), Address(kA), At(11));
  ASSERT_EQ(facts.clusters.size(), 2u);
  EXPECT_EQ(facts.clusters[0].cluster, "api");
  EXPECT_EQ(facts.clusters[1].cluster, "web");
  EXPECT_TRUE(belief_.At(script_.proxy(), Address("10.0.0.1:82"), At(11)).clusters.empty());
  EXPECT_TRUE(belief_.At(ProxyId("q"), Address(kA), At(11)).clusters.empty());
  EXPECT_FALSE(belief_.At(ProxyId("q"), Address(kA), At(11)).usable);
}

TEST_F(BeliefTest, PortZeroNeverMatches) {
  script_.Complete(10, "web: 10.0.0.1:0 10.0.0.1:80");
  EXPECT_TRUE(belief_.At(script_.proxy(), SocketAddr{Ip("10.0.0.1"), 0}, At(11)).clusters.empty());
}

TEST_F(BeliefTest, UsableWithinHalfAMinuteOfAGoodPoll) {
  script_.Complete(110, "web:");
  script_.Changed(125, "");
  script_.Changed(140, "");
  for (double t = 155; t < 500; t += 15) script_.Failed(t);
  script_.Complete(500, "web:");
  const struct {
    double t;
    bool usable;
  } kCases[] = {{79.9, false},  {80, true},     {110, true}, {132, true}, {170, true},
                {170.1, false}, {469.9, false}, {470, true}, {530, true}, {530.1, false}};
  for (const auto& c : kCases) EXPECT_EQ(Usable(c.t), c.usable) << c.t;
}

TEST_F(BeliefTest, UsableSurvivesThinning) {
  script_.Complete(15, "web:");
  for (double t = 16; t <= 1000; t += 1) script_.Changed(t, "");
  for (double t = 20; t <= 1000; t += 7) EXPECT_TRUE(Usable(t)) << t;
}

TEST_F(BeliefTest, AnsweredAfterCountsFailedPollsButOnlyByTheirRequest) {
  script_.Complete(10, "web:");
  const auto answered = [&](double t) {
    return belief_.At(script_.proxy(), Address(kA), At(t)).answered_after;
  };
  EXPECT_TRUE(answered(9.9));
  EXPECT_FALSE(answered(9.95));
  script_.Failed(20);
  EXPECT_TRUE(answered(19.9));
  EXPECT_FALSE(answered(19.95));
}

TEST_F(BeliefTest, FailedPollsKeepTheBeliefAndTellTheError) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Failed(25, "timeout");
  const Belief::ProxyFacts facts = belief_.Facts(script_.proxy());
  EXPECT_TRUE(facts.known);
  EXPECT_EQ(facts.error, "timeout");
  EXPECT_EQ(facts.last_good, At(10));
  EXPECT_EQ(facts.last_answer, At(25));
  EXPECT_EQ(facts.clusters, 1u);
  EXPECT_EQ(facts.endpoints, 1u);
  EXPECT_EQ(facts.median_poll, std::chrono::milliseconds(100));
  EXPECT_EQ(Only(12).last_seen, At(10));
  script_.Changed(40, "");
  EXPECT_EQ(belief_.Facts(script_.proxy()).error, "");
  EXPECT_EQ(Only(12).last_seen, At(40));
}

TEST_F(BeliefTest, UpdateTimeBoundsAChangeFromAbove) {
  belief_.SetWallOffset(WallOffset(std::chrono::seconds(1000)));
  script_.Complete(10, "web@1003: 10.0.0.1:80");
  script_.Changed(25, "web@1020:");
  EXPECT_EQ(Only(11).first_seen, At(3.001));  // long before the first poll
  EXPECT_EQ(Only(11).gone_by, At(20.001));
  EXPECT_EQ(HoldAt(20), "assigned");
  EXPECT_EQ(HoldAt(20.001), "dropped");
  // The polls are 15 s apart: a later push may have moved update_time.
  EXPECT_EQ(LetGo(5), (TimeBounds{At(9.9), At(20.001)}));
}

TEST_F(BeliefTest, UpdateTimeBetweenFastPollsDatesAChangeToTheMillisecond) {
  script_.set_poll_seconds(0.004);
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(10.05, "web@10.02:");
  EXPECT_EQ(LetGo(5), (TimeBounds{At(10.02), At(10.021)}));
}

TEST_F(BeliefTest, UpdateTimeOutsideThePollsSaysNothing) {
  script_.Complete(10, "web: 10.0.0.1:80 10.0.0.2:80*");
  script_.Changed(25, "web@9.8: 10.0.0.2:80*");  // older than a poll that still listed it
  EXPECT_EQ(LetGo(5), (TimeBounds{At(9.9), At(25)}));
  script_.Changed(40, "web@41: 10.0.0.1:80 10.0.0.2:80*");  // a clock that was stepped
  EXPECT_EQ(Only(41).first_seen, At(40));
  script_.Changed(55, "web@50: 10.0.0.1:80");  // health checks let go of a host: no update did
  EXPECT_EQ(Only(50, "10.0.0.2:80").gone_by, At(55));
}

TEST_F(BeliefTest, ConnectsAreCountedFromTheLastPollReceivedToTheFirstOneRequested) {
  script_.Complete(10, "web: 10.0.0.1:80#5");
  script_.Changed(25, "web: 10.0.0.1:80#7");
  script_.Changed(40, "");
  script_.Changed(55, "web: 10.0.0.1:80#8");
  EXPECT_EQ(Only(9.99).connects_around, -1);  // no poll was received before
  EXPECT_EQ(Only(10).connects_around, 2);
  EXPECT_EQ(Only(24.9).connects_around, 2);   // asked for at 24.9
  EXPECT_EQ(Only(24.95).connects_around, 2);  // from 10 to 40: the poll at 25 was under way
  EXPECT_EQ(Only(25).connects_around, 0);
  EXPECT_EQ(Only(40).connects_around, 1);
  EXPECT_EQ(Only(54.95).connects_around, -1);  // no later poll yet
}

// What a new host counted it counted since it was made; that it counted nothing tells nothing of
// another that may have come and gone between the two polls.
TEST_F(BeliefTest, ConnectsOfAHostThatTheFirstPollDidNotListBeginAtZero) {
  script_.Complete(10, "web:");
  script_.Changed(25, "web: 10.0.0.1:80#3 10.0.0.2:80#0");
  EXPECT_EQ(Only(9.99).connects_around, -1);
  EXPECT_EQ(Only(10).connects_around, 3);
  EXPECT_EQ(Only(24).connects_around, 3);
  EXPECT_EQ(Only(24, "10.0.0.2:80").connects_around, -1);
  script_.Changed(40, "web: 10.0.0.1:80#4 10.0.0.2:80#0");
  EXPECT_EQ(Only(24.95).connects_around, 4);  // from 10 to 40
  EXPECT_EQ(Only(25, "10.0.0.2:80").connects_around, 0);
  script_.Changed(55, "web: 10.0.0.2:80#0");
  script_.Changed(70, "web: 10.0.0.1:80#9 10.0.0.2:80#0");
  EXPECT_EQ(Only(60).connects_around, 9);
  EXPECT_EQ(Only(20).connects_around, -1);  // of an earlier stay
}

TEST_F(BeliefTest, ConnectsOfAReplacedHostAndOfAnEarlierStayAreUnknown) {
  script_.Complete(10, "web:");
  script_.Changed(25, "web: 10.0.0.1:80#1");
  script_.Changed(40, "web: 10.0.0.1:80#4");
  script_.Changed(55, "web:");
  script_.Changed(70, "web: 10.0.0.1:80#9");
  script_.Changed(85, "web: 10.0.0.1:80#2");
  EXPECT_EQ(Only(20).connects_around, -1);
  EXPECT_EQ(Only(72).connects_around, -1);  // the count fell: another host object
  script_.Changed(100, "web: 10.0.0.1:80#3");
  EXPECT_EQ(Only(86).connects_around, 1);
  EXPECT_EQ(Only(30).connects_around, -1);  // of an earlier stay
}

TEST_F(BeliefTest, ListedAgainItMayHaveBeenOutUntilThen) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "web:");
  script_.Changed(40, "web:");
  script_.Changed(55, "web: 10.0.0.1:80");
  EXPECT_FALSE(Only(12).left_before.is_set());
  EXPECT_EQ(Only(50).left_before, At(25));
  EXPECT_FALSE(Only(55).left_before.is_set());
}

TEST_F(BeliefTest, ConnectsOfADroppedHostAreStillKnown) {
  script_.Complete(10, "web: 10.0.0.1:80#1");
  script_.Changed(25, "web: 10.0.0.1:80#4");
  script_.Changed(40, "web:");
  EXPECT_EQ(Only(12).connects_around, 3);
  EXPECT_EQ(Only(30).connects_around, -1);
}

TEST_F(BeliefTest, WhatAPollAfterwardsToldIsThatOfTheFirstRequestedSince) {
  const auto told_after = [&](double t) {
    return belief_.At(script_.proxy(), Address(kA), At(t)).told_after;
  };
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "");
  script_.Failed(27);
  script_.Changed(40, "");
  EXPECT_EQ(told_after(9.9), At(10));
  EXPECT_EQ(told_after(9.91), At(25));
  EXPECT_EQ(told_after(24.9), At(25));
  EXPECT_EQ(told_after(24.95), At(40)) << "that at 25 was under way, that at 27 told nothing";
  EXPECT_EQ(told_after(39.95), BootTime::Max());
  belief_.Lost(script_.proxy(), At(41), At(50));
  script_.Changed(55, "");
  EXPECT_EQ(told_after(39), At(40));
  EXPECT_EQ(told_after(45), BootTime::Max()) << "what changed may have been lost";
  script_.Complete(70, "web: 10.0.0.1:80");
  EXPECT_EQ(told_after(60), At(70));
  script_.Changed(300, "");
  EXPECT_EQ(told_after(5), BootTime::Max()) << "more than three minutes before the last poll";
  EXPECT_EQ(told_after(290), At(300));
}

TEST_F(BeliefTest, BelieversAreTheProxiesThatListItNow) {
  BeliefScript other(belief_, "a");
  script_.Complete(10, "web: 10.0.0.1:80 10.0.0.1:81; gone: 10.0.0.1:80");
  script_.Changed(11, "", "gone");
  other.Complete(12, "web: 10.0.0.1:80*");
  const std::vector<Believer> believers = belief_.BelieversOf(Ip("10.0.0.1"));
  ASSERT_EQ(believers.size(), 3u);
  EXPECT_EQ(believers[0].proxy, ProxyId("a"));
  EXPECT_EQ(believers[0].belief.hold, Hold::kHostSet);
  EXPECT_EQ(believers[1].proxy, ProxyId("p"));
  EXPECT_EQ(believers[1].address, Address("10.0.0.1:80"));
  EXPECT_EQ(believers[2].address, Address("10.0.0.1:81"));
  const std::vector<Believer> history = belief_.HistoryOf(Ip("10.0.0.1"));
  ASSERT_EQ(history.size(), 4u);
  EXPECT_EQ(history[1].belief.cluster, "gone");
  EXPECT_EQ(history[1].belief.hold, Hold::kDropped);
}

TEST_F(BeliefTest, LayerAndServiceAreTheLatestTold) {
  const auto told = [&](double received, Layer layer, std::string service) {
    BeliefSnapshot snapshot;
    snapshot.proxy_id = script_.proxy();
    snapshot.requested = snapshot.received = At(received);
    snapshot.complete = true;
    snapshot.clusters = phantomd::testing::Clusters("web: 10.0.0.1:80");
    snapshot.clusters[0].layer = layer;
    snapshot.clusters[0].service = service;
    belief_.Apply(snapshot);
  };
  told(10, Layer::kL7, "shop/web");
  told(20, Layer::kMixed, "shop/web2");
  EXPECT_EQ(Only(12).layer, Layer::kMixed);
  told(30, Layer::kUnspecified, "");  // that poll did not tell
  EXPECT_EQ(Only(12).layer, Layer::kMixed);
  EXPECT_EQ(Only(12).service, "shop/web2");
}

TEST_F(BeliefTest, OriginalDstLayerHoldsOnlyWhereAllAgree) {
  const auto told = [&](double received, std::vector<Layer> layers) {
    BeliefSnapshot snapshot;
    snapshot.proxy_id = script_.proxy();
    snapshot.requested = snapshot.received = At(received);
    snapshot.complete = true;
    for (Layer layer : layers) {
      BeliefSnapshot::Cluster& cluster = snapshot.clusters.emplace_back();
      cluster.name = "passthrough" + std::to_string(snapshot.clusters.size());
      cluster.discovery = Discovery::kOriginalDst;
      cluster.layer = layer;
    }
    belief_.Apply(snapshot);
  };
  EXPECT_FALSE(belief_.HasOriginalDst(script_.proxy()));
  told(10, {Layer::kL4, Layer::kL4});
  EXPECT_TRUE(belief_.HasOriginalDst(script_.proxy()));
  EXPECT_EQ(belief_.OriginalDstLayer(script_.proxy()), Layer::kL4);
  told(20, {Layer::kL4, Layer::kL7});
  EXPECT_EQ(belief_.OriginalDstLayer(script_.proxy()), Layer::kUnspecified);
  told(30, {});
  EXPECT_FALSE(belief_.HasOriginalDst(script_.proxy()));
}

TEST_F(BeliefTest, TheSameAddressToldTwiceIsOneEndpoint) {
  script_.Complete(10, "web: 10.0.0.1:80*#2 10.0.0.1:80#3");
  script_.Changed(25, "web: 10.0.0.1:80*#4 10.0.0.1:80#3");
  EXPECT_EQ(HoldAt(11), "assigned");
  EXPECT_EQ(Only(11).connects_around, 2);
}

TEST_F(BeliefTest, CompactionForgetsWhatEndedAMinuteBeforeTheHorizon) {
  script_.Complete(10, "web: 10.0.0.1:80 10.0.0.2:80 10.0.0.3:80");
  script_.Changed(100, "web: 10.0.0.2:80 10.0.0.3:80");
  script_.Changed(200, "web: 10.0.0.3:80");
  belief_.Compact(At(200));
  EXPECT_TRUE(belief_.HistoryOf(Ip("10.0.0.1")).empty());
  EXPECT_EQ(belief_.HistoryOf(Ip("10.0.0.2")).size(), 1u);
  EXPECT_EQ(Only(201, "10.0.0.3:80").first_seen, At(10));
  belief_.Gone(script_.proxy(), At(210));
  belief_.Compact(At(271));
  EXPECT_FALSE(belief_.Facts(script_.proxy()).known);  // nothing of it is left
}

TEST_F(BeliefTest, StampsThatRunBackwardsAreTakenInOrderOfArrival) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(8, "web:");
  EXPECT_EQ(HoldAt(10), "assigned");
  EXPECT_EQ(HoldAt(10.001), "dropped");
}

}  // namespace
}  // namespace phantomd
