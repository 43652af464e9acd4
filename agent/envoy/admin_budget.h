// AdminBudget is a token bucket of admin time: how long polls may keep one proxy's main thread
// busy.
//
// It fills at `share` of real time up to `burst` and starts full. A poll may start while there is
// something left above its floor, and is charged what it took: the last one may run into debt,
// which is paid back before the next one starts, so the share holds over time however long one poll
// takes. A quarter of the burst is the floor of ordinary polls; polls that an attempt waits for may
// use it too.
//
// Example: share 2 %, burst 1200 ms, polls of 2 ms, every 50 ms from t=0: 40 ms are spent and 20 ms
// refilled each second, so the 900 ms above the floor are gone at t=45 s; from then on there is one
// poll each 100 ms (2 ms / 2 %).
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <algorithm>

#include "agent/base/boot_time.h"

namespace phantomd {

class AdminBudget {
 public:
  AdminBudget(double share, Nanos burst, BootTime now)
      : share_(share), burst_(burst), level_(burst), as_of_(now) {}

  Nanos ordinary_floor() const { return burst_ / 4; }

  Nanos Level(BootTime now) const {
    const double refilled = static_cast<double>((now - as_of_).count()) * share_;
    return std::min(burst_, level_ + Nanos(static_cast<int64_t>(refilled)));
  }

  // When the level rises above `floor`; `now` if it is above already.
  BootTime AboveAt(Nanos floor, BootTime now) const {
    const Nanos missing = floor - Level(now);
    if (missing < Nanos(0)) return now;
    return now + Nanos(static_cast<int64_t>(static_cast<double>(missing.count() + 1) / share_) + 1);
  }

  void Spend(Nanos time, BootTime now) {
    level_ = Level(now) - time;
    as_of_ = now;
  }

 private:
  const double share_;
  const Nanos burst_;
  Nanos level_;
  BootTime as_of_;
};

}  // namespace phantomd
