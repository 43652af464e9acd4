#include "agent/base/boot_time.h"

#include <type_traits>

#include "absl/hash/hash_testing.h"
#include "gtest/gtest.h"

namespace phantomd {
namespace {

BootTime T(int64_t n) { return BootTime::FromNanos(n); }
constexpr Nanos kLongest{std::numeric_limits<int64_t>::max()};

TEST(TimePointTest, Arithmetic) {
  EXPECT_EQ(T(5) + Nanos(3), T(8));
  EXPECT_EQ(T(5) - Nanos(8), T(-3));
  EXPECT_EQ(T(5) - T(8), Nanos(-3));
  BootTime t = T(1);
  t += std::chrono::microseconds(2);
  EXPECT_EQ(t, T(2'001));
  EXPECT_LT(T(-1), T(0));
}

TEST(TimePointTest, ZeroIsUnset) {
  EXPECT_FALSE(BootTime().is_set());
  EXPECT_EQ(BootTime(), T(0));
  EXPECT_TRUE(T(-1).is_set());
  EXPECT_TRUE(BootTime::Max().is_set());
}

TEST(TimePointTest, NeverPlusADelayIsStillNever) {
  EXPECT_EQ(BootTime::Max() + Nanos(1), BootTime::Max());
  EXPECT_EQ(BootTime::Max() - Nanos(1), BootTime::Max());
  EXPECT_EQ(BootTime::Min() + Nanos(1), BootTime::Min());
  EXPECT_EQ(BootTime::Min() - Nanos(1), BootTime::Min());
}

TEST(TimePointTest, SumsStopAtTheEndsOfTime) {
  EXPECT_EQ(T(2) + kLongest, BootTime::Max());
  EXPECT_EQ(T(1) + kLongest, BootTime::Max());
  EXPECT_EQ(T(0) + kLongest, BootTime::Max());
  EXPECT_EQ((T(-1) + kLongest).nanos(), std::numeric_limits<int64_t>::max() - 1);
  EXPECT_EQ(T(-3) - kLongest, BootTime::Min());
  EXPECT_EQ(T(-1) - kLongest, BootTime::Min());
  EXPECT_EQ((T(0) - kLongest).nanos(), -std::numeric_limits<int64_t>::max());
}

TEST(TimePointTest, SpansStopAtTheLongest) {
  EXPECT_EQ(T(5) - BootTime::Min(), kLongest);
  EXPECT_EQ(BootTime::Min() - T(5), Nanos::min());
  EXPECT_EQ(BootTime::Max() - T(-5), kLongest);
  EXPECT_EQ(BootTime::Max() - BootTime::Min(), kLongest);
  EXPECT_EQ(BootTime::Max() - BootTime::Max(), Nanos(0));
  EXPECT_EQ(T(-2) - Nanos::min(), BootTime::FromNanos(std::numeric_limits<int64_t>::max() - 1));
  EXPECT_EQ(T(2) - Nanos::min(), BootTime::Max());
}

TEST(TimePointTest, TheTwoClocksDoNotMix) {
  static_assert(!std::is_same_v<BootTime, WallTime>);
  static_assert(!std::is_convertible_v<BootTime, WallTime>);
  static_assert(!std::is_constructible_v<BootTime, WallTime>);
  static_assert(!std::is_convertible_v<int64_t, BootTime>);
}

TEST(TimePointTest, EqualTimesHashAlike) {
  EXPECT_TRUE(absl::VerifyTypeImplementsAbslHashCorrectly(
      {BootTime(), T(1), T(-1), BootTime::Min(), BootTime::Max()}));
}

TEST(WallOffsetTest, TurnsOneClockIntoTheOther) {
  const WallOffset offset{std::chrono::seconds(1000)};
  const BootTime boot = T(5'000'000'000);
  const WallTime wall = WallTime::FromNanos(1'005'000'000'000);
  EXPECT_EQ(offset.ToWall(boot), wall);
  EXPECT_EQ(offset.ToBoot(wall), boot);
  EXPECT_EQ(offset.ToWall(BootTime::Max()), WallTime::Max());
  EXPECT_EQ(offset.ToBoot(WallTime::Min()), BootTime::Min());
  EXPECT_NE(offset, WallOffset());
}

TEST(TimeBoundsTest, WhatHasNoUpperBoundHasNotHappened) {
  EXPECT_FALSE(TimeBounds{}.happened());
  EXPECT_FALSE((TimeBounds{.not_before = T(1)}).happened());
  EXPECT_TRUE((TimeBounds{.not_before = T(1), .not_after = T(2)}).happened());
}

}  // namespace
}  // namespace phantomd
