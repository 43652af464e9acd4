#include "agent/engine/clock_history.h"

#include <algorithm>

namespace phantomd {

void ClockHistory::Changed(BootTime when, WallOffset offset) {
  if (changes_.back().second == offset) return;
  if (changes_.back().first >= when) {
    changes_.back().second = offset;
  } else {
    changes_.emplace_back(when, offset);
    if (changes_.size() > kMost) changes_.erase(changes_.begin() + 1);
  }
}

WallOffset ClockHistory::At(BootTime t) const {
  const auto after = std::upper_bound(
      changes_.begin(), changes_.end(), t,
      [](BootTime instant, const Change& change) { return instant < change.first; });
  return after == changes_.begin() ? changes_.front().second : std::prev(after)->second;
}

}  // namespace phantomd
