// ClockHistory remembers how far the wall clock was ahead, and when: what was learned at an instant
// must be told again with the offset of that instant.
//
// Example: offset 100 s at the start, 101 s from 50 s on: At(49) = 100 s, At(50) = 101 s. Of more
// than kMost changes the oldest after the first are given up: what a Node told at the start still
// holds. Thread-compatible.
#pragma once

#include <utility>
#include <vector>

#include "agent/base/boot_time.h"

namespace phantomd {

class ClockHistory {
 public:
  using Change = std::pair<BootTime, WallOffset>;  // from then on

  static constexpr size_t kMost = 4096;

  explicit ClockHistory(WallOffset at_start) : changes_({{BootTime::Min(), at_start}}) {}

  void Changed(BootTime when, WallOffset offset);
  WallOffset At(BootTime t) const;
  const std::vector<Change>& changes() const { return changes_; }  // by time; never empty

 private:
  std::vector<Change> changes_;
};

}  // namespace phantomd
