#include "agent/engine/silence_record.h"

#include <gtest/gtest.h>

#include "tests/testing/scene.h"

namespace phantomd {
namespace {

using testing::Seconds;

class SilenceRecordTest : public ::testing::Test {
 protected:
  void Silent(uint32_t pod, double syn, const char* node = "n1") {
    record_.Unanswered(static_cast<PodHandle>(pod), node, Seconds(syn));
  }
  void Answer(uint32_t pod, double syn, const char* node = "n1") {
    record_.Answered(static_cast<PodHandle>(pod), node, Seconds(syn));
  }
  void NodeIs(bool ready, double when, const char* node = "n1") {
    record_.Apply({.name = node, .ready = ready}, Seconds(when));
  }
  bool Fell(double t) { return record_.FellSilent("n1", Seconds(t)); }

  SilenceRecord record_;
};

TEST_F(SilenceRecordTest, TwoSilentPodsAndANodeNotReady) {
  Silent(1, 10);
  Silent(2, 11);
  EXPECT_FALSE(Fell(10)) << "the node is not known to be lost";
  NodeIs(false, 50);
  EXPECT_TRUE(Fell(10));
  EXPECT_FALSE(Fell(50.001)) << "a SYN after the node was known to be lost";
}

TEST_F(SilenceRecordTest, OneSilentPodIsNoLostNode) {
  Silent(1, 10);
  Silent(1, 12);
  NodeIs(false, 50);
  EXPECT_FALSE(Fell(10));
}

TEST_F(SilenceRecordTest, AnAnswerAfterwardsProvesTheNodeAlive) {
  Silent(1, 10);
  Silent(2, 11);
  Answer(3, 20);
  NodeIs(false, 50);
  EXPECT_FALSE(Fell(10));
  EXPECT_FALSE(Fell(20));
  EXPECT_TRUE(Fell(20.001)) << "it may have died since";
}

TEST_F(SilenceRecordTest, APodThatAnsweredAgainIsNotSilent) {
  Silent(1, 10);
  Silent(2, 11);
  Answer(2, 12);
  NodeIs(false, 50);
  EXPECT_FALSE(Fell(13));
}

TEST_F(SilenceRecordTest, ANodeThatIsReadyAgainWasNotLost) {
  Silent(1, 10);
  Silent(2, 11);
  NodeIs(false, 50);
  NodeIs(true, 60);
  EXPECT_FALSE(Fell(10));
}

TEST_F(SilenceRecordTest, ASilenceOfLongAgoTellsNothingOfTheNode) {
  Silent(1, 10);
  Silent(2, 10.9);
  NodeIs(false, 101);
  EXPECT_FALSE(Fell(10)) << "a dead node is found out sooner";
  Silent(1, 20);
  EXPECT_FALSE(Fell(20)) << "pod 2 was silent long before";
  Silent(2, 21);
  EXPECT_TRUE(Fell(20));
}

TEST_F(SilenceRecordTest, OtherNodesDoNotCount) {
  Silent(1, 10);
  Silent(2, 11, "n2");
  NodeIs(false, 50);
  EXPECT_FALSE(Fell(10));
}

TEST_F(SilenceRecordTest, CompactionForgetsOldSilence) {
  Silent(1, 10);
  Silent(2, 11);
  record_.Compact(Seconds(12));
  NodeIs(false, 50);
  EXPECT_FALSE(Fell(10));
}

}  // namespace
}  // namespace phantomd
