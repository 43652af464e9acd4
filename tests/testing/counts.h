// What the tests of totals ask of a report: independent of how the agent counts.
#pragma once

#include <cstdint>

#include "agent/engine/report.h"

namespace phantomd::testing {

inline uint64_t Sum(const Counts& counts) {
  uint64_t sum = 0;
  for (const auto& [key, count] : counts) sum += count;
  return sum;
}

inline bool MustHaveCause(DestinationClass c) {
  return c == DestinationClass::kWithdrawn || c == DestinationClass::kDead ||
         c == DestinationClass::kReused;
}

}  // namespace phantomd::testing
