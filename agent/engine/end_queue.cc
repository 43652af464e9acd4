#include "agent/engine/end_queue.h"

#include <algorithm>

#include "agent/ledger/change_windows.h"
#include "agent/verdict/holders.h"

namespace phantomd {
namespace {

using How = ConnectionEnd::How;

bool IsSilent(const ConnectionEnd& end) {
  return end.how == How::kStalled || end.how == How::kExpired;
}

bool Outlived(const ConnectionEnd& end, const TimeBounds& released) {
  return end.ended > released.not_after || (IsSilent(end) && end.ended >= released.not_before);
}

}  // namespace

EndQueue::Decision EndQueue::Decide(HeldEnd& held, BootTime at, BootTime broken_since,
                                    const Settings& settings, const Lifecycle& lifecycle) {
  const ConnectionEnd& end = held.end;
  const BootTime gap_limit = std::max(end.ended, held.observed) + settings.max_gap_hold;
  if (end.ended > broken_since && at < gap_limit) return {true, gap_limit, true, {}};
  const PodHandle pod =
      LikelyHolder(lifecycle.At(end.destination.ip, end.established), end.established);
  if (pod == PodHandle::kNone) return {};
  const TimeBounds released = lifecycle.ReleasedBounds(pod);
  if (released.happened()) {
    if (!Outlived(end, released)) return {};
    return {.stranded = Stranded{pod, std::max(Nanos(0), end.ended - Middle(released))}};
  }
  if (!held.first_tried.is_set()) held.first_tried = at;
  const BootTime limit = held.first_tried + settings.max_hold;
  const bool may_be_told = IsSilent(end) || lifecycle.WithdrawnBounds(pod).happened();
  if (may_be_told && at < limit) return {true, limit, false, {}};
  return {};
}

void EndQueue::Add(HeldEnd held) { Insert(next_++, std::move(held)); }

void EndQueue::Insert(Number number, HeldEnd held) {
  turns_.emplace(held.next, number);
  if (held.waits_for_address) by_address_[held.end.destination.ip].insert(number);
  if (held.waits_for_feed) by_feed_.insert(number);
  ends_.emplace(number, std::move(held));
}

std::optional<EndQueue::Number> EndQueue::FirstDue(BootTime until) const {
  if (turns_.empty() || turns_.begin()->first > until) return std::nullopt;
  return turns_.begin()->second;
}

std::optional<EndQueue::Number> EndQueue::Oldest() const {
  if (ends_.empty()) return std::nullopt;
  return ends_.begin()->first;
}

void EndQueue::Wait(Number number, const Decision& decision) {
  HeldEnd held = Take(number);
  held.next = decision.until;
  held.waits_for_feed = decision.for_feed;
  held.waits_for_address = !decision.for_feed;
  Insert(number, std::move(held));  // it keeps its place in the order of arrival
}

HeldEnd EndQueue::Take(Number number) {
  const auto at = ends_.find(number);
  HeldEnd held = std::move(at->second);
  ends_.erase(at);
  turns_.erase({held.next, number});
  if (held.waits_for_feed) by_feed_.erase(number);
  if (held.waits_for_address) {
    const auto waiting = by_address_.find(held.end.destination.ip);
    waiting->second.erase(number);
    if (waiting->second.empty()) by_address_.erase(waiting);
  }
  return held;
}

std::vector<EndQueue::Number> EndQueue::WokenByAddress(const IpAddr& ip) const {
  const auto at = by_address_.find(ip);
  if (at == by_address_.end()) return {};
  return {at->second.begin(), at->second.end()};
}

std::vector<EndQueue::Number> EndQueue::WokenByFeed() const {
  return {by_feed_.begin(), by_feed_.end()};
}

}  // namespace phantomd
