#include "agent/base/clock.h"

#include <ctime>

namespace phantomd {
namespace {

int64_t ReadNanos(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return int64_t{ts.tv_sec} * 1'000'000'000 + ts.tv_nsec;
}

}  // namespace

BootTime SystemClock::Now() const { return BootTime::FromNanos(ReadNanos(CLOCK_BOOTTIME)); }

WallOffset SystemClock::Offset() const {
  // Bracketed by two reads of one clock: a preemption between the reads shows as a wide bracket and
  // is tried again.
  for (int attempt = 0;; ++attempt) {
    const int64_t before = ReadNanos(CLOCK_BOOTTIME);
    const int64_t wall = ReadNanos(CLOCK_REALTIME);
    const int64_t after = ReadNanos(CLOCK_BOOTTIME);
    if (after - before < 50'000 || attempt == 10) {
      return WallOffset(Nanos(wall - (before + (after - before) / 2)));
    }
  }
}

}  // namespace phantomd
