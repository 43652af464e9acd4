// A Clock that the test sets. Thread-safe.
#pragma once

#include <atomic>

#include "agent/base/clock.h"

namespace phantomd::testing {

class ManualClock : public Clock {
 public:
  explicit ManualClock(int64_t now_nanos = 1'000'000'000) : now_(now_nanos) {}

  BootTime Now() const override { return BootTime::FromNanos(now_); }
  WallOffset Offset() const override { return WallOffset(Nanos(offset_)); }
  void Advance(Nanos by) { now_ += by.count(); }
  void Step(Nanos by) { offset_ += by.count(); }

 private:
  std::atomic<int64_t> now_;
  std::atomic<int64_t> offset_ = 1'700'000'000'000'000'000;
};

}  // namespace phantomd::testing
