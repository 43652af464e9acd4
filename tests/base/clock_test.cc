#include "agent/base/clock.h"

#include <ctime>

#include "gtest/gtest.h"

namespace phantomd {
namespace {

int64_t Read(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

TEST(SystemClockTest, NowIsTheBootTimeOfTheKernel) {
  const SystemClock clock;
  const int64_t before = Read(CLOCK_BOOTTIME);
  const BootTime now = clock.Now();
  const int64_t after = Read(CLOCK_BOOTTIME);
  EXPECT_LE(before, now.nanos());
  EXPECT_LE(now.nanos(), after);
}

TEST(SystemClockTest, OffsetIsWallMinusBoot) {
  const SystemClock clock;
  // However long a preemption between the two reads was, it only makes the bracket wider.
  const int64_t low = Read(CLOCK_REALTIME) - Read(CLOCK_BOOTTIME);
  const int64_t offset = clock.Offset().wall_minus_boot().count();
  const int64_t boot = Read(CLOCK_BOOTTIME);
  const int64_t high = Read(CLOCK_REALTIME) - boot;
  constexpr int64_t kSlew = 5'000'000;  // what an adjusted wall clock may do meanwhile
  EXPECT_LE(low - kSlew, offset);
  EXPECT_LE(offset, high + kSlew);
}

}  // namespace
}  // namespace phantomd
