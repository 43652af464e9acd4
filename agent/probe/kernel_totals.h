// What the kernel counts of its records, whether they were read or not. Plain values.
#pragma once

#include <array>
#include <cstdint>

#include "bpf/connect_event.h"

namespace phantomd {

// Sums over all CPUs since the probe was loaded, by connect_record_kind. For each kind, what
// happened = submitted + lost + storage_failed + unreadable + unseen (see connect_event.h).
using KernelTotals = std::array<connect_counters, CONNECT_COUNTER_KINDS>;

// What happened and left no record, for whatever reason.
inline uint64_t LostOf(const connect_counters& counters) {
  return counters.lost + counters.storage_failed + counters.unreadable + counters.unseen;
}

}  // namespace phantomd
