#include "agent/engine/held_queue.h"

#include <algorithm>
#include <utility>

#include "agent/base/check.h"

namespace phantomd {
namespace {

template <typename Map, typename Key, typename Entry>
void EraseFrom(Map& map, const Key& key, const Entry& entry) {
  const auto it = map.find(key);
  if (it == map.end()) return;
  it->second.erase(entry);
  if (it->second.empty()) map.erase(it);
}

// Below this many stale entries it is not worth looking.
constexpr size_t kSweepAbove = 1024;

BootTime EndOf(const Attempt& attempt) { return std::max(attempt.started, attempt.ended); }

}  // namespace

Ticket HeldQueue::Add(Attempt attempt, BootTime observed, BootTime due) {
  const Ticket ticket = next_ticket_++;
  held_.emplace_hint(
      held_.end(), ticket,
      HeldAttempt{.attempt = std::move(attempt), .observed = observed, .due = due, .next = due});
  Push({due, ticket});
  return ticket;
}

void HeldQueue::Restore(HeldAttempt held) {
  const Ticket ticket = next_ticket_++;
  const BootTime next = held.next;
  WaitsFor waits = std::exchange(held.waits, {});
  held_.emplace_hint(held_.end(), ticket, std::move(held));
  Push({next, ticket});
  Wait(ticket, next, std::move(waits));
}

void HeldQueue::Push(Turn turn) {
  turns_.push(turn);
  if (turns_.size() < 2 * held_.size() + kSweepAbove) return;
  std::vector<Turn> still_held;
  still_held.reserve(held_.size());
  for (const auto& [ticket, held] : held_) still_held.push_back({held.next, ticket});
  turns_ = decltype(turns_)(std::greater<Turn>(), std::move(still_held));
}

std::optional<Ticket> HeldQueue::FirstDue(BootTime until) {
  while (!turns_.empty()) {
    const Turn turn = turns_.top();
    const auto it = held_.find(turn.ticket);
    if (it == held_.end() || it->second.next != turn.at) {
      turns_.pop();
      continue;
    }
    if (turn.at > until) return std::nullopt;
    return turn.ticket;
  }
  return std::nullopt;
}

HeldAttempt& HeldQueue::Get(Ticket ticket) {
  const auto it = held_.find(ticket);
  PHANTOMD_CHECK(it != held_.end());
  return it->second;
}

void HeldQueue::Wait(Ticket ticket, BootTime limit, WaitsFor waits) {
  HeldAttempt& held = Get(ticket);
  StopWaiting(ticket, held);
  if (std::exchange(held.next, limit) != limit) Push({limit, ticket});
  if (waits.address) by_address_[held.attempt.destination.ip].insert(ticket);
  if (!waits.poll.empty()) by_poll_[waits.poll].emplace(held.attempt.started, ticket);
  if (waits.nodes) by_nodes_.insert(ticket);
  if (waits.feed) by_feed_.insert(ticket);
  held.waits = std::move(waits);
}

void HeldQueue::Remove(Ticket ticket) {
  const auto it = held_.find(ticket);
  PHANTOMD_CHECK(it != held_.end());
  StopWaiting(ticket, it->second);
  held_.erase(it);
}

void HeldQueue::StopWaiting(Ticket ticket, const HeldAttempt& held) {
  if (held.waits.address) EraseFrom(by_address_, held.attempt.destination.ip, ticket);
  if (!held.waits.poll.empty()) {
    EraseFrom(by_poll_, held.waits.poll, std::make_pair(held.attempt.started, ticket));
  }
  if (held.waits.nodes) by_nodes_.erase(ticket);
  if (held.waits.feed) by_feed_.erase(ticket);
}

std::vector<Ticket> HeldQueue::WokenByAddress(const IpAddr& ip) const {
  const auto it = by_address_.find(ip);
  if (it == by_address_.end()) return {};
  return {it->second.begin(), it->second.end()};
}

std::vector<Ticket> HeldQueue::WokenByPoll(const ProxyId& proxy) const {
  std::vector<Ticket> out;
  const auto it = by_poll_.find(proxy);
  if (it == by_poll_.end()) return out;
  for (const auto& [syn, ticket] : it->second) out.push_back(ticket);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Ticket> HeldQueue::WokenByNodes() const { return {by_nodes_.begin(), by_nodes_.end()}; }

std::vector<Ticket> HeldQueue::WokenByFeed() const { return {by_feed_.begin(), by_feed_.end()}; }

BootTime HeldQueue::PollNeededAfter(const ProxyId& proxy) const {
  const auto it = by_poll_.find(proxy);
  return it == by_poll_.end() ? BootTime() : it->second.rbegin()->first;
}

BootTime HeldQueue::EarliestEnd() const {
  BootTime earliest = BootTime::Max();
  for (const auto& [ticket, held] : held_) earliest = std::min(earliest, EndOf(held.attempt));
  return earliest;
}

}  // namespace phantomd
