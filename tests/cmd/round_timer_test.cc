#include "agent/cmd/daemon/round_timer.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace phantomd {
namespace {

using std::chrono::steady_clock;

// Whether a wait came to its end without being cut short.
bool WaitsFor(RoundTimer& timer, bool busy) {
  const auto begun = steady_clock::now();
  timer.Wait(busy);
  // epoll_wait counts in whole milliseconds, from the clock's last tick.
  return steady_clock::now() - begun >=
         (busy ? RoundTimer::kBusy : RoundTimer::kIdle) - std::chrono::milliseconds(1);
}

TEST(RoundTimerTest, WithoutAnythingUrgentARoundComesAtItsPace) {
  RoundTimer timer;
  EXPECT_TRUE(WaitsFor(timer, true));
  EXPECT_TRUE(WaitsFor(timer, false));
}

TEST(RoundTimerTest, WakeCutsOneWaitShort) {
  RoundTimer timer;
  for (int i = 0; i < 3; ++i) {
    timer.Wake();
    // A thread that is not run for as long would not prove anything: one in three is enough.
    if (!WaitsFor(timer, false)) return;
  }
  FAIL() << "never cut short";
}

TEST(RoundTimerTest, AWakeIsUsedUp) {
  RoundTimer timer;
  timer.Wake();
  timer.Wake();
  timer.Wait(false);
  EXPECT_TRUE(WaitsFor(timer, true));
}

TEST(RoundTimerTest, WhatStaysReadableWakesOnce) {
  RoundTimer timer;
  const int ring = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
  timer.Watch(ring);
  timer.Wait(false);
  EXPECT_TRUE(WaitsFor(timer, true)) << "it is readable still";
  close(ring);
}

}  // namespace
}  // namespace phantomd
