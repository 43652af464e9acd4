#include "agent/lifecycle/feed_log.h"

#include <algorithm>

namespace phantomd {

void FeedLog::Apply(const FeedChange& change, BootTime observed) {
  if (change.state == FeedState::kSynced) {
    if (first_sync_ == BootTime::Max()) first_sync_ = observed;
    if (!gaps_.empty() && gaps_.back().mended == BootTime::Max()) gaps_.back().mended = observed;
    if (!synced_) ++syncs_;
    synced_ = true;
    return;
  }
  if (change.state != FeedState::kBroken) return;
  synced_ = false;
  // Before the first sync nothing is known anyway: a list that breaks off is tried again.
  if (first_sync_ == BootTime::Max()) return;
  const BootTime good_until = change.good_until.is_set() ? change.good_until : observed;
  if (!gaps_.empty() && gaps_.back().mended == BootTime::Max()) {
    // Broken again before it was mended: it was not known to be alive in between.
    gaps_.back().good_until = std::min(gaps_.back().good_until, good_until);
    return;
  }
  gaps_.push_back({std::min(good_until, observed), observed});
}

void FeedLog::Compact(BootTime horizon) {
  std::erase_if(gaps_, [&](const Gap& gap) { return gap.mended < horizon; });
}

bool FeedLog::BlindAt(BootTime t) const {
  if (t < first_sync_) return true;
  return std::any_of(gaps_.begin(), gaps_.end(), [&](const Gap& gap) {
    return t >= gap.good_until - feed_delay_ && t < gap.mended;
  });
}

BootTime FeedLog::BlindFrom() const {
  if (first_sync_ == BootTime::Max()) return BootTime::Min();
  if (gaps_.empty() || gaps_.back().mended != BootTime::Max()) return BootTime::Max();
  return gaps_.back().good_until - feed_delay_;
}

BootTime FeedLog::NewsFloorInGaps(BootTime observed) const {
  if (observed <= first_sync_) return BootTime::Min();
  BootTime floor = observed - feed_delay_;
  for (const Gap& gap : gaps_) {
    if (observed >= gap.reported && observed <= gap.mended) {
      floor = std::min(floor, gap.good_until - feed_delay_);
    }
  }
  return floor;
}

}  // namespace phantomd
