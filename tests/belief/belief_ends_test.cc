// What ends a belief: observations that were lost, proxies that let go or are gone.
#include <gtest/gtest.h>

#include "tests/belief/belief_fixture.h"

namespace phantomd {
namespace {

using ::phantomd::testing::At;
using ::phantomd::testing::Ip;

class BeliefEndsTest : public testing::BeliefFixture {};

TEST_F(BeliefEndsTest, AfterLostObservationsOnlyListedClustersAreConfirmed) {
  script_.Complete(10, "web: 10.0.0.1:80; db: 10.0.0.2:80");
  script_.Changed(25, "");
  belief_.Lost(script_.proxy(), At(30), At(40));
  script_.Changed(45, "web: 10.0.0.1:80");
  EXPECT_EQ(Only(30).last_seen, At(45));
  EXPECT_EQ(Only(30, "10.0.0.2:80").last_seen, At(25));
  script_.Complete(60, "web: 10.0.0.1:80");
  EXPECT_EQ(Only(30, "10.0.0.2:80").last_seen, At(25));
  EXPECT_EQ(Only(30, "10.0.0.2:80").gone_by, At(60));
  script_.Changed(75, "");
  EXPECT_EQ(Only(30).last_seen, At(75));  // the chain is whole again
  EXPECT_EQ(Only(62).connects_around, 0);
  EXPECT_EQ(Only(46).connects_around, -1);
}

TEST_F(BeliefEndsTest, LossToldLateTakesBackWhatPollsSinceConfirmed) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "");
  script_.Changed(40, "");
  belief_.Lost(script_.proxy(), At(30), At(35));
  EXPECT_EQ(Only(26).last_seen, At(25));
}

TEST_F(BeliefEndsTest, LossBeforeACompleteSnapshotIsMadeUpFor) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Complete(40, "web: 10.0.0.1:80");
  script_.Changed(55, "");
  belief_.Lost(script_.proxy(), At(20), At(30));
  EXPECT_EQ(Only(26).last_seen, At(55));
}

TEST_F(BeliefEndsTest, LettingGoIsTheEndOfTheLastClusterAndPort) {
  script_.Complete(10, "web: 10.0.0.1:80 10.0.0.1:81; api: 10.0.0.1:80");
  script_.Changed(25, "web: 10.0.0.1:81");
  script_.Changed(40, "web:");
  EXPECT_EQ(LetGo(12).not_after, BootTime::Max());
  script_.Changed(55, "api:");
  EXPECT_EQ(LetGo(12), (TimeBounds{At(39.9), At(55)}));
  EXPECT_EQ(LetGo(50), (TimeBounds{At(50), At(55)}));
  EXPECT_EQ(LetGo(55), (TimeBounds{BootTime::Min(), BootTime::Min()}));
  EXPECT_EQ(belief_.LetGo(script_.proxy(), Ip("10.0.0.9"), At(1)),
            (TimeBounds{BootTime::Min(), BootTime::Min()}));
}

TEST_F(BeliefEndsTest, LettingGoIsNotUndoneByALaterBelief) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "web:");
  script_.Changed(200, "web: 10.0.0.1:80");
  EXPECT_EQ(LetGo(12), (TimeBounds{At(12), At(25)}));
  EXPECT_EQ(LetGo(100).not_after, BootTime::Max());
  EXPECT_EQ(LetGo(100, 200), (TimeBounds{BootTime::Min(), BootTime::Min()}));
}

TEST_F(BeliefEndsTest, AGoneProxyLetsGoOfEverything) {
  script_.Complete(10, "web: 10.0.0.1:80");
  script_.Changed(25, "");
  EXPECT_TRUE(belief_.BelievesNow(script_.proxy(), Ip("10.0.0.1")));
  belief_.Gone(script_.proxy(), At(30));
  script_.Changed(30.01, "web: 10.0.0.1:80");  // was still in the mail
  script_.Complete(30.05, "web: 10.0.0.1:80");
  EXPECT_FALSE(belief_.BelievesNow(script_.proxy(), Ip("10.0.0.1")));
  EXPECT_EQ(LetGo(12), (TimeBounds{At(24.9), At(30)}));
  EXPECT_EQ(HoldAt(29), "assigned");
  EXPECT_EQ(HoldAt(30), "dropped");
}

TEST_F(BeliefEndsTest, AProxyThatAnswersAfterItsEndLivesOn) {
  script_.Complete(10, "web: 10.0.0.1:80");
  belief_.Gone(script_.proxy(), At(30));
  script_.Changed(40, "web: 10.0.0.1:80");  // changes of what is no longer known
  EXPECT_FALSE(belief_.BelievesNow(script_.proxy(), Ip("10.0.0.1")));
  script_.Complete(55, "web: 10.0.0.1:80");
  EXPECT_TRUE(belief_.BelievesNow(script_.proxy(), Ip("10.0.0.1")));
  EXPECT_EQ(HoldAt(35), "assigned");  // back at some time since its supposed end
  EXPECT_EQ(Only(56).first_seen, At(55));
}

}  // namespace
}  // namespace phantomd
