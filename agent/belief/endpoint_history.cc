#include "agent/belief/endpoint_history.h"

#include <algorithm>

#include "agent/base/check.h"

namespace phantomd {
namespace {

// A control plane does not push the same cluster twice within this time (Istio's
// PILOT_DEBOUNCE_AFTER), so an update_time between two polls that are closer is the change's own;
// between polls further apart it may be that of a later push, and bounds the change from above.
constexpr Nanos kShortestPushInterval = std::chrono::milliseconds(100);

bool Dates(const EndpointHistory::Change& change) {
  return change.dated.is_set() && change.dated < change.poll.received &&
         (!change.confirmed.exists() || change.dated > change.confirmed.requested);
}

}  // namespace

bool EndpointHistory::List(const Listing& listing, const Change& change) {
  const bool dated = Dates(change) && listing.hold == Hold::kAssigned;
  if (!listed_) {
    counts_.reset();  // a host that comes back is a new one and counts from 0
    current_.earliest = change.confirmed.exists() ? change.confirmed.requested
                                                  : change.poll.received - PollLog::kNear;
    current_.first = change.poll.received;
    current_.first_at = dated ? change.dated : change.poll.received;
    // An update may fall into the very poll that told of the end before: one after the other.
    if (ended_) current_.first_at = std::max(current_.first_at, ended_->back().gone_at);
    current_.hold = listing.hold;
    listed_ = true;
    listing_ = listing;
    return true;
  }
  const bool changed_hold = current_.hold != listing.hold;
  if (changed_hold) {
    const BootTime changed =
        std::max(current_.first_at, Dates(change) ? change.dated : change.poll.received);
    if (!ended_) ended_ = std::make_unique<std::vector<Ended>>();
    ended_->push_back({current_, change.confirmed, change.poll.received, changed});
    current_ = {change.confirmed.requested, change.poll.received, changed, listing.hold};
  }
  Count(listing.connects, change.poll.received);
  listing_ = listing;
  return changed_hold;
}

bool EndpointHistory::Unlist(const Change& change) {
  if (!listed_) return false;
  // The end of a host that health checks held is no update of the cluster: nothing dates it.
  const bool dated = Dates(change) && current_.hold == Hold::kAssigned;
  if (!ended_) ended_ = std::make_unique<std::vector<Ended>>();
  const BootTime gone_at = std::max(current_.first_at, dated ? change.dated : change.poll.received);
  ended_->push_back({current_, change.confirmed, change.poll.received, gone_at});
  listed_ = false;
  return true;
}

void EndpointHistory::Count(uint64_t connects, BootTime now) {
  if (connects == listing_.connects) return;
  if (!counts_) {
    counts_ = std::make_unique<std::vector<Sample>>();
    // The count that held until now began with the stay, however that was cut into stretches.
    BootTime since = current_.first;
    if (ended_) {
      for (size_t i = ended_->size(); i-- > 0 && (*ended_)[i].gone_poll == since;) {
        since = (*ended_)[i].stretch.first;
      }
    }
    counts_->push_back({since, listing_.connects});
  }
  counts_->push_back({now, connects});
  // The one that held at the edge stays; what came before is out of reach of any verdict.
  const auto in_reach = std::find_if(counts_->begin() + 1, counts_->end(), [&](const Sample& s) {
    return s.since > now - PollLog::kRecent;
  });
  counts_->erase(counts_->begin(), in_reach - 1);
}

EndpointHistory::Ended EndpointHistory::StretchAt(size_t index, const Poll& confirmed) const {
  if (ended_ && index < ended_->size()) return (*ended_)[index];
  PHANTOMD_CHECK(listed_);
  return {current_, confirmed, BootTime::Max(), BootTime::Max()};
}

bool EndpointHistory::Joined(const Ended& earlier, const Stretch& later) const {
  return earlier.gone_poll == later.first;
}

EndpointHistory::Stay EndpointHistory::StayOf(size_t stretch, const Poll& confirmed) const {
  Stay stay;
  stay.first_stretch = stay.last_stretch = stretch;
  while (stay.first_stretch > 0 && Joined(StretchAt(stay.first_stretch - 1, confirmed),
                                          StretchAt(stay.first_stretch, confirmed).stretch)) {
    --stay.first_stretch;
  }
  while (stay.last_stretch + 1 < stretches() &&
         Joined(StretchAt(stay.last_stretch, confirmed),
                StretchAt(stay.last_stretch + 1, confirmed).stretch)) {
    ++stay.last_stretch;
  }
  const Ended end = StretchAt(stay.last_stretch, confirmed);
  stay.begin = StretchAt(stay.first_stretch, confirmed).stretch;
  stay.last = end.last;
  stay.gone_at = end.gone_at;
  stay.latest = stay.last_stretch + 1 == stretches();
  const bool dated = end.gone_at < end.gone_poll && end.gone_at > end.last.received;
  if (dated && end.gone_poll - end.last.requested <= kShortestPushInterval) {
    stay.last.requested = std::max(end.last.requested, end.gone_at - kUpdateTimeGrain);
  }
  return stay;
}

std::vector<EndpointHistory::Stay> EndpointHistory::Stays(const Poll& confirmed) const {
  std::vector<Stay> stays;
  for (size_t i = 0; i < stretches(); i = stays.back().last_stretch + 1) {
    stays.push_back(StayOf(i, confirmed));
  }
  return stays;
}

std::optional<EndpointHistory::Around> EndpointHistory::At(BootTime t,
                                                           const Poll& confirmed) const {
  for (size_t i = stretches(); i-- > 0;) {
    const Ended stretch = StretchAt(i, confirmed);
    BootTime begin = std::min(stretch.stretch.earliest, stretch.stretch.first_at);
    if (i > 0) {
      // What was held before counts as held until it was surely gone.
      begin = std::max(begin, StretchAt(i - 1, confirmed).gone_at);
    }
    if (t < begin) continue;
    Around around{StayOf(i, confirmed),
                  t < stretch.gone_at ? stretch.stretch.hold : Hold::kDropped};
    const Stay& stay = around.stay;
    if (t < stay.begin.first_at && stay.first_stretch > 0) {
      around.left_before = StretchAt(stay.first_stretch - 1, confirmed).gone_at;
    }
    return around;
  }
  return std::nullopt;
}

int64_t EndpointHistory::ConnectsAt(BootTime received) const {
  if (!counts_) return static_cast<int64_t>(listing_.connects);
  const auto later =
      std::upper_bound(counts_->begin(), counts_->end(), received,
                       [](BootTime stamp, const Sample& s) { return stamp < s.since; });
  if (later == counts_->begin()) return -1;
  return static_cast<int64_t>(std::prev(later)->connects);
}

std::optional<Hold> EndpointHistory::HoldAt(BootTime received) const {
  if (listed_ && received >= current_.first) return current_.hold;
  if (!ended_) return std::nullopt;
  for (const Ended& ended : *ended_) {
    if (received >= ended.stretch.first && received < ended.gone_poll) return ended.stretch.hold;
  }
  return std::nullopt;
}

void EndpointHistory::Compact(BootTime before) {
  if (!ended_) return;
  // Stays are forgotten whole: a stretch that is followed by another of its stay is still needed.
  size_t keep = 0;
  for (size_t i = 0; i < ended_->size(); ++i) {
    const Ended& ended = (*ended_)[i];
    const bool joined = i + 1 < ended_->size() ? Joined(ended, (*ended_)[i + 1].stretch)
                                               : listed_ && Joined(ended, current_);
    if (ended.gone_at >= before) break;
    if (!joined) keep = i + 1;
  }
  ended_->erase(ended_->begin(), ended_->begin() + static_cast<std::ptrdiff_t>(keep));
  if (ended_->empty()) ended_.reset();
}

std::vector<BootTime> EndpointHistory::ConnectChanges() const {
  std::vector<BootTime> changes;
  if (!counts_) return changes;
  for (const Sample& sample : *counts_) changes.push_back(sample.since);
  return changes;
}

}  // namespace phantomd
