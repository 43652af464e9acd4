#include "agent/engine/input_merge.h"

#include <gtest/gtest.h>

#include "tests/testing/scene.h"

namespace phantomd {
namespace {

using testing::Seconds;

Input LossAt(double seconds, uint64_t id) {
  return {Seconds(seconds), Loss{.what = "attempt", .count = id}};
}
uint64_t IdOf(const std::optional<Input>& input) {
  return input ? std::get<Loss>(input->value).count : 0;
}

class InputMergeTest : public ::testing::Test {
 protected:
  void Mark(Edge edge, double seconds) { merge_.Post({edge, Seconds(seconds)}); }
  bool Post(Edge edge, double seconds, uint64_t id) {
    return merge_.Post({edge, LossAt(seconds, id)});
  }
  void MarkAll(double seconds) {
    for (const Edge edge : {Edge::kProbe, Edge::kKube, Edge::kEnvoy}) Mark(edge, seconds);
  }
  InputMerge merge_;
};

TEST_F(InputMergeTest, NothingIsReleasedBeforeEveryEdgeHasSpoken) {
  Post(Edge::kProbe, 1, 1);
  Mark(Edge::kProbe, 10);
  Mark(Edge::kKube, 10);
  EXPECT_FALSE(merge_.Next());
  EXPECT_EQ(merge_.safe_until(), BootTime::Min());
  Mark(Edge::kEnvoy, 5);
  EXPECT_EQ(IdOf(merge_.Next()), 1u);
}

TEST_F(InputMergeTest, AnInputWaitsUntilEveryLowMarkHasPassedIt) {
  Post(Edge::kKube, 5, 1);
  MarkAll(5);
  EXPECT_FALSE(merge_.Next()) << "another edge may still post something observed at 5 s";
  MarkAll(5.001);
  EXPECT_EQ(IdOf(merge_.Next()), 1u);
}

TEST_F(InputMergeTest, TellsWhoseLowMarkTheEarliestInputAwaits) {
  MarkAll(5);
  EXPECT_FALSE(merge_.Awaits(Edge::kEnvoy)) << "nothing is there";
  Post(Edge::kKube, 7, 2);
  Post(Edge::kProbe, 6, 1);
  Mark(Edge::kKube, 8);
  Mark(Edge::kEnvoy, 6);
  EXPECT_TRUE(merge_.Awaits(Edge::kProbe));
  EXPECT_FALSE(merge_.Awaits(Edge::kKube));
  EXPECT_TRUE(merge_.Awaits(Edge::kEnvoy)) << "it may still post something observed at 6 s";
  Mark(Edge::kEnvoy, 6.5);
  EXPECT_FALSE(merge_.Awaits(Edge::kEnvoy));
}

TEST_F(InputMergeTest, StampsDecideNotArrival) {
  Post(Edge::kEnvoy, 3, 3);
  Post(Edge::kKube, 2, 2);
  Post(Edge::kKube, 4, 4);
  Post(Edge::kProbe, 1, 1);
  MarkAll(10);
  for (const uint64_t id : {1, 2, 3, 4}) EXPECT_EQ(IdOf(merge_.Next()), id);
  EXPECT_FALSE(merge_.Next());
}

TEST_F(InputMergeTest, AnEdgeMayPostOutOfItsOwnOrder) {
  Post(Edge::kProbe, 3, 3);
  Post(Edge::kProbe, 1, 1);
  Post(Edge::kProbe, 2, 2);
  MarkAll(10);
  for (const uint64_t id : {1, 2, 3}) EXPECT_EQ(IdOf(merge_.Next()), id);
}

TEST_F(InputMergeTest, EqualStampsComeByEdgeThenByArrival) {
  Post(Edge::kEnvoy, 1, 5);
  Post(Edge::kKube, 1, 3);
  Post(Edge::kKube, 1, 4);
  Post(Edge::kProbe, 1, 1);
  Post(Edge::kProbe, 1, 2);
  MarkAll(2);
  for (const uint64_t id : {1, 2, 3, 4, 5}) EXPECT_EQ(IdOf(merge_.Next()), id);
}

TEST_F(InputMergeTest, ABrokenLowMarkIsToldAndTheInputKept) {
  Post(Edge::kProbe, 5, 1);
  MarkAll(6);
  merge_.Next();
  EXPECT_FALSE(Post(Edge::kProbe, 3, 2));
  const std::optional<Input> late = merge_.Next();
  ASSERT_EQ(IdOf(late), 2u);
  EXPECT_EQ(late->observed, Seconds(5));
}

TEST_F(InputMergeTest, ALowMarkNeverGoesBack) {
  MarkAll(6);
  Mark(Edge::kProbe, 2);
  EXPECT_EQ(merge_.safe_until(), Seconds(6));
}

TEST_F(InputMergeTest, AnEdgeThatStopsForGoodHoldsNobodyBack) {
  Post(Edge::kKube, 7, 1);
  MarkAll(5);
  merge_.Post({Edge::kEnvoy, BootTime::Max()});
  merge_.Post({Edge::kProbe, BootTime::Max()});
  EXPECT_EQ(merge_.safe_until(), Seconds(5));
  Mark(Edge::kKube, 8);
  EXPECT_EQ(IdOf(merge_.Next()), 1u);
}

TEST_F(InputMergeTest, AtTheEndEverythingIsReleasedInOrder) {
  Post(Edge::kKube, 2, 2);
  Post(Edge::kProbe, 1, 1);
  EXPECT_EQ(IdOf(merge_.NextRegardless()), 1u);
  EXPECT_EQ(IdOf(merge_.NextRegardless()), 2u);
  EXPECT_FALSE(merge_.NextRegardless());
}

}  // namespace
}  // namespace phantomd
