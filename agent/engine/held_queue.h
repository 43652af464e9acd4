// HeldQueue keeps the attempts that wait for their verdict, by the instant at which each is to be
// decided next, and by what could decide it earlier.
//
// An attempt enters to be decided when it is due. If more news would help, it waits again, until a
// limit, or until a wake-up: news about its address, an answer of its proxy's admin API, news of
// nodes, or a feed that is whole again. Example: due at 14 s, then waiting for the end of the pod
// behind 10.0.0.7 until 74 s: TakeDue(20 s) yields nothing; WokenByAddress(10.0.0.7) yields it.
//
// Attempts are named by a ticket, which grows in the order of arrival; every list comes in that
// order. Beyond `max_held` the caller decides the oldest. Thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"
#include "agent/engine/held_attempt.h"

namespace phantomd {

using Ticket = uint64_t;

class HeldQueue {
 public:
  Ticket Add(Attempt attempt, BootTime observed, BootTime due);
  // As another queue held it; call it in that queue's order.
  void Restore(HeldAttempt held);
  // The ticket that is to be decided first, at or before `until`.
  std::optional<Ticket> FirstDue(BootTime until);
  HeldAttempt& Get(Ticket ticket);
  void Wait(Ticket ticket, BootTime limit, WaitsFor waits);
  void Remove(Ticket ticket);

  std::vector<Ticket> WokenByAddress(const IpAddr& ip) const;
  std::vector<Ticket> WokenByPoll(const ProxyId& proxy) const;
  std::vector<Ticket> WokenByNodes() const;
  std::vector<Ticket> WokenByFeed() const;
  // The latest SYN that waits for a poll of this proxy; unset: none does.
  BootTime PollNeededAfter(const ProxyId& proxy) const;

  const std::map<Ticket, HeldAttempt>& all() const { return held_; }
  size_t size() const { return held_.size(); }
  // The earliest end of all that are held; Max: none is.
  BootTime EarliestEnd() const;

 private:
  using TicketSet = std::set<Ticket>;
  struct Turn {
    BootTime at;
    Ticket ticket;
    bool operator>(const Turn& other) const {
      return at != other.at ? at > other.at : ticket > other.ticket;
    }
  };

  void StopWaiting(Ticket ticket, const HeldAttempt& held);
  void Push(Turn turn);

  std::map<Ticket, HeldAttempt> held_;
  // Entries whose attempt is gone or moved on are skipped when they come up, and swept out when
  // they are the most.
  std::priority_queue<Turn, std::vector<Turn>, std::greater<Turn>> turns_;
  absl::flat_hash_map<IpAddr, TicketSet> by_address_;
  absl::flat_hash_map<ProxyId, std::set<std::pair<BootTime, Ticket>>> by_poll_;  // by SYN
  TicketSet by_nodes_;
  TicketSet by_feed_;
  Ticket next_ticket_ = 1;
};

}  // namespace phantomd
