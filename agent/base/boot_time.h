// The two clocks of the agent, as types that cannot be mixed.
//
// BootTime is an instant on CLOCK_BOOTTIME, the only axis on which the agent compares things: the
// kernel stamps connections with it (bpf_ktime_get_boot_ns) and every edge stamps what it learns
// with it. WallTime is an instant on CLOCK_REALTIME and comes from other machines (Kubernetes API,
// Envoy) or goes to people. Only a WallOffset turns one into the other.
//
// All values are nanoseconds. Example: with WallOffset(1000 s), BootTime 5 s <-> WallTime 1005 s.
//
// Plain values; never read a clock.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace phantomd {

using Nanos = std::chrono::nanoseconds;

template <typename Tag>
class TimePoint {
 public:
  constexpr TimePoint() = default;  // the clock's zero: "unset" where a field may be unset
  static constexpr TimePoint FromNanos(int64_t nanos) { return TimePoint(nanos); }
  static constexpr TimePoint Min() { return TimePoint(std::numeric_limits<int64_t>::min()); }
  static constexpr TimePoint Max() { return TimePoint(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t nanos() const { return nanos_; }
  constexpr bool is_set() const { return nanos_ != 0; }

  friend constexpr auto operator<=>(TimePoint, TimePoint) = default;

  // Saturates at Min() and Max(), so that "never" plus a delay is still "never".
  friend constexpr TimePoint operator+(TimePoint t, Nanos d) {
    if (t == Max() || t == Min()) return t;
    int64_t sum = 0;
    if (__builtin_add_overflow(t.nanos_, d.count(), &sum)) return d.count() > 0 ? Max() : Min();
    return TimePoint(sum);
  }
  friend constexpr TimePoint operator-(TimePoint t, Nanos d) {
    if (t == Max() || t == Min()) return t;
    int64_t rest = 0;
    if (__builtin_sub_overflow(t.nanos_, d.count(), &rest)) return d.count() > 0 ? Min() : Max();
    return TimePoint(rest);
  }
  // Saturates too: from "always" to any instant it is as long as can be told.
  friend constexpr Nanos operator-(TimePoint a, TimePoint b) {
    int64_t span = 0;
    if (__builtin_sub_overflow(a.nanos_, b.nanos_, &span))
      return a > b ? Nanos::max() : Nanos::min();
    return Nanos(span);
  }
  constexpr TimePoint& operator+=(Nanos d) { return *this = *this + d; }

  template <typename H>
  friend H AbslHashValue(H h, TimePoint t) {
    return H::combine(std::move(h), t.nanos_);
  }

 private:
  explicit constexpr TimePoint(int64_t nanos) : nanos_(nanos) {}
  int64_t nanos_ = 0;
};

using BootTime = TimePoint<struct BootClockTag>;
using WallTime = TimePoint<struct WallClockTag>;

// CLOCK_REALTIME minus CLOCK_BOOTTIME.
class WallOffset {
 public:
  constexpr WallOffset() = default;
  explicit constexpr WallOffset(Nanos wall_minus_boot) : wall_minus_boot_(wall_minus_boot) {}

  constexpr Nanos wall_minus_boot() const { return wall_minus_boot_; }
  constexpr BootTime ToBoot(WallTime t) const {
    return BootTime::FromNanos(t.nanos()) - wall_minus_boot_;
  }
  constexpr WallTime ToWall(BootTime t) const {
    return WallTime::FromNanos(t.nanos()) + wall_minus_boot_;
  }
  friend constexpr bool operator==(WallOffset, WallOffset) = default;

 private:
  Nanos wall_minus_boot_{0};
};

// A moment known only between two bounds, both inclusive. not_after == Max(): not known to have
// happened.
struct TimeBounds {
  BootTime not_before = BootTime::Min();
  BootTime not_after = BootTime::Max();

  constexpr bool happened() const { return not_after != BootTime::Max(); }
  friend constexpr bool operator==(const TimeBounds&, const TimeBounds&) = default;
};

}  // namespace phantomd
