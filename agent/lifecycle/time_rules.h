// TimeRules: how far each kind of news may be from the instant it tells of.
//
// News is received up to feed_delay after what it tells; instants of the API are truncated to the
// second and come from clocks that may be clock_error apart. Example with clock_error 0.5 s:
// finishedAt 100 (wall) means a finish in [99.5 s, 101.5 s].
//
// Plain values.
#pragma once

#include <algorithm>
#include <cstdint>

#include "agent/base/boot_time.h"

namespace phantomd {

// metav1.Time drops its nanoseconds.
inline constexpr Nanos kApiGrain = std::chrono::seconds(1);
// A kubelet reports a container's end some 200 ms after it happened.
inline constexpr Nanos kFinishReportDelay = std::chrono::milliseconds(200);
// An endpoint that leaves one slice of a Service and is ready in another within this time was only
// moved between them.
inline constexpr Nanos kSliceMove = std::chrono::seconds(1);
// Without a heartbeat: node-monitor-grace-period of kube-controller-manager, the time a Node may be
// silent before it is declared not ready.
inline constexpr Nanos kNodeGrace = std::chrono::seconds(40);

// A second of the API. Four bytes, because every pod has three of them. 0: unset.
class WallSecond {
 public:
  constexpr WallSecond() = default;
  static constexpr WallSecond Of(WallTime t) {
    return WallSecond(t.nanos() <= 0 ? 0 : static_cast<uint32_t>(t.nanos() / kApiGrain.count()));
  }
  constexpr bool is_set() const { return second_ != 0; }
  constexpr uint32_t second() const { return second_; }
  constexpr WallTime time() const {
    return WallTime::FromNanos(static_cast<int64_t>(second_) * kApiGrain.count());
  }
  friend constexpr auto operator<=>(WallSecond, WallSecond) = default;

 private:
  explicit constexpr WallSecond(uint32_t second) : second_(second) {}
  uint32_t second_ = 0;
};

struct TimeRules {
  Nanos feed_delay{0};
  Nanos typical_delay{0};
  Nanos clock_error{0};
  WallOffset offset;

  // The bounds of what the API dates to second `t`.
  TimeBounds OfApi(WallSecond t) const {
    const BootTime boot = offset.ToBoot(t.time());
    return {boot - clock_error, boot + kApiGrain + clock_error};
  }
};

// The likely instant of what is known by its news: its later bound minus what news usually takes.
inline BootTime LikelyBefore(const TimeBounds& bounds, Nanos usual) {
  if (!bounds.happened()) return BootTime::Max();
  return std::max(bounds.not_before, bounds.not_after - usual);
}

}  // namespace phantomd
