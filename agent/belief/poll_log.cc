#include "agent/belief/poll_log.h"

#include <algorithm>

#include "agent/base/check.h"

namespace phantomd {

void PollLog::Add(const Poll& poll) {
  PHANTOMD_CHECK(poll.received > last().received);
  recent_.push_back({poll, false});
  Thin();
}

void PollLog::PinLast() {
  PHANTOMD_CHECK(!recent_.empty());
  recent_.back().pinned = true;
}

Poll PollLog::PinLastBefore(BootTime t) {
  const auto later = [](BootTime stamp, const Entry& entry) { return stamp < entry.poll.received; };
  const auto recent = std::upper_bound(recent_.begin(), recent_.end(), t, later);
  if (recent != recent_.begin()) {
    Entry& entry = *std::prev(recent);
    entry.pinned = true;
    return entry.poll;
  }
  const auto old = std::upper_bound(old_.begin(), old_.end(), t, later);
  if (old == old_.begin()) return Poll{};
  Entry& entry = *std::prev(old);
  entry.pinned = true;
  return entry.poll;
}

Poll PollLog::first() const {
  if (!old_.empty()) return old_.front().poll;
  return recent_.empty() ? Poll{} : recent_.front().poll;
}

Poll PollLog::last() const {
  if (!recent_.empty()) return recent_.back().poll;
  return old_.empty() ? Poll{} : old_.back().poll;
}

bool PollLog::usable(BootTime t) const {
  // Mostly the question is about the present.
  const BootTime newest = last().received;
  if (newest >= t - kNear && newest <= t + kNear) return true;
  const auto earlier = [](const Entry& entry, BootTime stamp) {
    return entry.poll.received < stamp;
  };
  const auto near = [&](const auto& polls) {
    const auto first = std::lower_bound(polls.begin(), polls.end(), t - kNear, earlier);
    return first != polls.end() && first->poll.received <= t + kNear;
  };
  return near(recent_) || near(old_);
}

Poll PollLog::FirstAfter(BootTime t) const {
  // Polls do not overlap, so `requested` increases as `received` does.
  const auto after = std::lower_bound(
      recent_.begin(), recent_.end(), t,
      [](const Entry& entry, BootTime stamp) { return entry.poll.requested < stamp; });
  const bool in_reach = t >= last().received - kRecent;
  return after != recent_.end() && in_reach ? after->poll : Poll{};
}

std::optional<std::pair<Poll, Poll>> PollLog::Around(BootTime t) const {
  const auto after = std::upper_bound(
      recent_.begin(), recent_.end(), t,
      [](BootTime stamp, const Entry& entry) { return stamp < entry.poll.received; });
  if (after == recent_.begin()) return std::nullopt;
  const Poll second = FirstAfter(t);
  if (!second.exists()) return std::nullopt;
  return std::make_pair(std::prev(after)->poll, second);
}

Nanos PollLog::Median() const {
  std::vector<Nanos> took;
  took.reserve(recent_.size());
  for (const Entry& entry : recent_) took.push_back(entry.poll.received - entry.poll.requested);
  if (took.empty()) return Nanos(0);
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(took.size() / 2);
  std::nth_element(took.begin(), middle, took.end());
  return *middle;
}

void PollLog::Thin() {
  const BootTime boundary = last().received - kRecent;
  while (recent_.size() > 1 && recent_.front().poll.received < boundary) {
    const Entry entry = recent_.front();
    recent_.pop_front();
    const Entry& next = recent_.front();
    // Without this poll its neighbours may lie 2 * kNear apart at most, so that every instant
    // between them is still near one of them.
    const bool bridges = old_.empty() || next.poll.received - old_.back().poll.received > 2 * kNear;
    if (entry.pinned || next.pinned || bridges) old_.push_back(entry);
  }
}

void PollLog::Compact(BootTime horizon, const std::vector<BootTime>& keep) {
  const auto keeps = [&](const Entry& entry) {
    return entry.poll.received >= horizon - kNear ||
           std::binary_search(keep.begin(), keep.end(), entry.poll.received);
  };
  const BootTime newest_recent = last().received;
  const auto filter = [&](auto& polls, BootTime next_kept) {
    // From the newest to the oldest: the last poll before the horizon stays.
    size_t out = polls.size();
    for (size_t i = polls.size(); i-- > 0;) {
      const BootTime received = polls[i].poll.received;
      const bool last_before = received < horizon && next_kept >= horizon;
      if (received == newest_recent || last_before || keeps(polls[i])) {
        if (last_before || received >= horizon) next_kept = received;
        polls[--out] = polls[i];
      }
    }
    polls.erase(polls.begin(), polls.begin() + static_cast<std::ptrdiff_t>(out));
    return next_kept;
  };
  filter(old_, filter(recent_, BootTime::Max()));
}

void PollLog::ForEach(const std::function<void(const Poll&)>& visit) const {
  for (const Entry& entry : old_) visit(entry.poll);
  for (const Entry& entry : recent_) visit(entry.poll);
}

}  // namespace phantomd
