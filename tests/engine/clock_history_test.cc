#include "agent/engine/clock_history.h"

#include <gtest/gtest.h>

#include "tests/testing/scene.h"

namespace phantomd {
namespace {

using std::chrono::seconds;
using testing::Seconds;

TEST(ClockHistoryTest, AnOffsetHoldsFromItsChangeOn) {
  ClockHistory clock(WallOffset(seconds(100)));
  clock.Changed(Seconds(50), WallOffset(seconds(101)));
  clock.Changed(Seconds(60), WallOffset(seconds(101)));
  clock.Changed(Seconds(70), WallOffset(seconds(102)));
  EXPECT_EQ(clock.At(Seconds(49)), WallOffset(seconds(100)));
  EXPECT_EQ(clock.At(Seconds(50)), WallOffset(seconds(101)));
  EXPECT_EQ(clock.At(Seconds(69)), WallOffset(seconds(101)));
  EXPECT_EQ(clock.At(Seconds(1000)), WallOffset(seconds(102)));
  EXPECT_EQ(clock.changes().size(), 3u) << "the same again is no change";
}

TEST(ClockHistoryTest, TheFirstAndTheLatestAreKept) {
  ClockHistory clock(WallOffset(seconds(0)));
  const int many = static_cast<int>(ClockHistory::kMost) + 100;
  for (int i = 1; i <= many; ++i) clock.Changed(Seconds(i), WallOffset(seconds(i)));
  EXPECT_EQ(clock.changes().size(), ClockHistory::kMost);
  EXPECT_EQ(clock.At(Seconds(0.5)), WallOffset(seconds(0)));
  EXPECT_EQ(clock.At(Seconds(many)), WallOffset(seconds(many)));
}

}  // namespace
}  // namespace phantomd
