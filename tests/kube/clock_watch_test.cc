#include "agent/kube/clock_watch.h"

#include <deque>

#include "gtest/gtest.h"

namespace phantomd {
namespace {

WallOffset Us(int64_t microseconds) { return WallOffset(std::chrono::microseconds(microseconds)); }

// Gives the readings it was told to give; the last one again and again.
class ScriptedClock : public Clock {
 public:
  explicit ScriptedClock(std::deque<int64_t> microseconds) : readings_(std::move(microseconds)) {}
  BootTime Now() const override { return BootTime::FromNanos(1); }
  WallOffset Offset() const override {
    const int64_t out = readings_.front();
    if (readings_.size() > 1) readings_.pop_front();
    return Us(out);
  }

 private:
  mutable std::deque<int64_t> readings_;
};

TEST(ClockWatchTest, MoveOfMoreThanAMillisecondIsToldOnce) {
  ClockWatch watch(Us(0));
  EXPECT_EQ(watch.Check(ScriptedClock({1'000})), std::nullopt);
  EXPECT_EQ(watch.Check(ScriptedClock({1'001})), Us(1'001));
  EXPECT_EQ(watch.Check(ScriptedClock({1'001})), std::nullopt);
  EXPECT_EQ(watch.Check(ScriptedClock({2'001})), std::nullopt);
  EXPECT_EQ(watch.Check(ScriptedClock({0})), Us(0));  // and back
}

TEST(ClockWatchTest, SlowDriftAddsUp) {
  ClockWatch watch(Us(0));
  int told = 0;
  for (int64_t drift = 0; drift <= 10'000; drift += 10) {
    told += watch.Check(ScriptedClock({drift})).has_value() ? 1 : 0;
  }
  EXPECT_EQ(told, 9);  // each time the last told is more than 1 ms away
}

TEST(ClockWatchTest, OneDisturbedReadingIsNoMove) {
  ClockWatch watch(Us(0));
  EXPECT_EQ(watch.Check(ScriptedClock({7'000, 3})), std::nullopt);
  EXPECT_EQ(watch.Check(ScriptedClock({7'000, 5'000})), Us(5'000));  // the second is what is told
}

}  // namespace
}  // namespace phantomd
