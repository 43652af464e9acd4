#include "agent/cmd/daemon/round_timer.h"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

namespace phantomd {
namespace {

TEST(RoundTimerTest, WithoutAnythingUrgentARoundComesAtItsPace) {
  RoundTimer timer;
  EXPECT_FALSE(timer.Wait(true));
  EXPECT_FALSE(timer.Wait(false));
}

TEST(RoundTimerTest, AWakeCutsOneWaitShortAndIsUsedUp) {
  RoundTimer timer;
  for (int i = 0; i < 3; ++i) {
    timer.Wake();
    timer.Wake();
    EXPECT_TRUE(timer.Wait(false));
    EXPECT_FALSE(timer.Wait(true));
  }
}

TEST(RoundTimerTest, AnyThreadMayWake) {
  RoundTimer timer;
  std::thread other([&] { timer.Wake(); });
  while (!timer.Wait(true)) {
  }
  other.join();
}

TEST(RoundTimerTest, WhatStaysReadableWakesOnceAndAgainWhenMoreComes) {
  RoundTimer timer;
  const int ring = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  timer.Watch(ring);
  EXPECT_FALSE(timer.Wait(true));
  for (int i = 0; i < 2; ++i) {
    eventfd_write(ring, 1);
    EXPECT_TRUE(timer.Wait(false));
    EXPECT_FALSE(timer.Wait(true)) << "it is readable still";
  }
  close(ring);
}

}  // namespace
}  // namespace phantomd
