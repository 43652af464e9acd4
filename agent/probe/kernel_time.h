// Instants as the BPF programs stamp them, by bpf_ktime_get_boot_ns().
//
// Pure.
#pragma once

#include <cstdint>

#include "agent/base/boot_time.h"

namespace phantomd {

// `nanos` on CLOCK_BOOTTIME; 0: unset.
constexpr BootTime FromKernel(uint64_t nanos) {
  return BootTime::FromNanos(static_cast<int64_t>(nanos));
}

}  // namespace phantomd
