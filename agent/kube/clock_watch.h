// ClockWatch notices when the wall clock has moved away from what the engine was told.
//
// The threshold is 1 ms: the finest wall time that is compared (Envoy's update_time) has that
// grain, and a clock that is slewed as fast as the kernel allows (500 ppm) then makes one input in
// 2 s. A reading is only as good as the scheduler lets it be, so a move counts when a second
// reading shows it too.
//
// Thread-compatible.
#pragma once

#include <optional>

#include "agent/base/clock.h"

namespace phantomd {

class ClockWatch {
 public:
  static constexpr Nanos kThreshold = std::chrono::milliseconds(1);

  explicit ClockWatch(WallOffset told) : told_(told) {}

  // The offset that the engine must be told now, if it moved.
  std::optional<WallOffset> Check(const Clock& clock);

 private:
  bool Moved(WallOffset offset) const;

  WallOffset told_;
};

}  // namespace phantomd
