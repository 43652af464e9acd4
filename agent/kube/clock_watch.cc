#include "agent/kube/clock_watch.h"

namespace phantomd {

bool ClockWatch::Moved(WallOffset offset) const {
  const Nanos by = offset.wall_minus_boot() - told_.wall_minus_boot();
  return by > kThreshold || by < -kThreshold;
}

std::optional<WallOffset> ClockWatch::Check(const Clock& clock) {
  if (!Moved(clock.Offset())) return std::nullopt;
  const WallOffset again = clock.Offset();
  if (!Moved(again)) return std::nullopt;
  told_ = again;
  return again;
}

}  // namespace phantomd
