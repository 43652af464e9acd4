// What the tests of the probe's middle call their instants and namespaces.
#pragma once

#include <cstdint>

#include "agent/base/boot_time.h"

namespace phantomd {

inline constexpr uint64_t kHost = 1;  // cookies of network namespaces
inline constexpr uint64_t kPod = 100;

inline BootTime At(double seconds) {
  return BootTime::FromNanos(static_cast<int64_t>(seconds * 1e9));
}

}  // namespace phantomd
