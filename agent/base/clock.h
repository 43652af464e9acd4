// Clock is the one place where time is read. Edges own a reference to it; pure code gets instants
// as arguments.
//
// SystemClock is stateless and may be used from any thread.
#pragma once

#include "agent/base/boot_time.h"

namespace phantomd {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual BootTime Now() const = 0;       // CLOCK_BOOTTIME
  virtual WallOffset Offset() const = 0;  // CLOCK_REALTIME minus CLOCK_BOOTTIME, now
};

class SystemClock : public Clock {
 public:
  BootTime Now() const override;
  WallOffset Offset() const override;
};

}  // namespace phantomd
