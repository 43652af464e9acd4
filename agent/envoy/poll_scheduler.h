// PollScheduler decides when which proxy's admin API is polled, and what may not be polled.
//
// - Slow polls, every 15 s: the whole belief; its layers and metadata once a minute.
// - Fast polls, every 50 ms, while the engine says that a withdrawal touches the proxy's belief.
// - Answer polls, for attempts that wait for a poll requested at or after an instant.
// One poll per proxy is outstanding; it serves all who wait. Each proxy's polls live within its
// AdminBudget: a window that outlives the bucket slows down. An answer that the budget cannot give
// within `answer_patience`, or that is wanted of a proxy which is not registered, is refused, and
// the refusal is an answer too. Failed polls are repeated after 100 ms, then ever later up to the
// slow pace: a proxy that has just started opens its admin port within milliseconds.
//
// Example, one proxy, registered at 0: slow poll at 0, 15, 30 s. Demand "fast" at 20 s: fast polls
// at 20.00, 20.05, 20.10 ... and the slow one still at 30 s.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <string>
#include <vector>

#include "absl/container/btree_map.h"
#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/engine/poll_demand.h"
#include "agent/envoy/admin_budget.h"

namespace phantomd {

enum class PollKind { kSlow, kFast, kAnswer };

struct PollPace {
  Nanos slow = std::chrono::seconds(15);
  Nanos fast = std::chrono::milliseconds(50);
  double share = 0.02;                                 // of the proxy's main thread
  Nanos burst = std::chrono::milliseconds(1200);       // what the share earns in a minute
  Nanos answer_patience = std::chrono::seconds(2);     // longer waits for the budget are refused
  Nanos unknown_patience = std::chrono::seconds(1);    // a registration may be on its way
  Nanos first_retry = std::chrono::milliseconds(100);  // doubled by each further failure
};

class PollScheduler {
 public:
  struct Poll {
    ProxyId proxy;
    PollKind kind;
  };
  struct Refusal {
    ProxyId proxy;
    std::string reason;
  };
  struct Due {
    std::vector<Poll> polls;  // started by this: Finished() must follow for each
    std::vector<Refusal> refusals;
  };

  explicit PollScheduler(PollPace pace) : pace_(pace) {}

  void Add(const ProxyId& proxy, BootTime now);  // nothing if it is known
  void Remove(const ProxyId& proxy);             // an outstanding poll is forgotten
  void SetDemand(const PollDemand& demand, BootTime now);

  Due Take(BootTime now);
  // `requested` is what the poll's snapshot says; `served` is the admin time it took.
  void Finished(const ProxyId& proxy, BootTime requested, BootTime now, Nanos served, bool ok);
  // One more poll as soon as the fast pace allows, whatever the demand.
  void PollSoon(const ProxyId& proxy);
  // The next instant at which Take() may return something; polls outstanding aside.
  BootTime NextWake(BootTime now) const;

 private:
  struct State {
    explicit State(AdminBudget budget) : budget(budget) {}
    AdminBudget budget;
    bool outstanding = false;
    bool fast = false;
    bool soon = false;
    BootTime answer_after;                      // unset: nobody waits
    BootTime answered_until = BootTime::Min();  // waits up to this instant have had their answer
    BootTime slow_at = BootTime::Min();         // the next slow poll
    BootTime not_before = BootTime::Min();      // pace and backoff of all polls
    BootTime answer_from = BootTime::Min();     // pace of answer polls, which no backoff delays
    Nanos backoff{0};                           // zero: the last poll succeeded
  };
  // An answer wanted of a proxy that is not registered.
  struct Unknown {
    BootTime answer_after;
    BootTime refuse_at;
    bool refused = false;
  };

  // When a poll of this proxy may start, and of which kind; Max() if none is wanted.
  struct Plan {
    BootTime at = BootTime::Max();
    PollKind kind = PollKind::kSlow;
  };
  Plan PlanFor(const State& state, BootTime now) const;
  void ApplyDemand(const ProxyId& proxy, State& state);

  const PollPace pace_;
  PollDemand demand_;
  absl::btree_map<ProxyId, State> states_;
  absl::btree_map<ProxyId, Unknown> unknown_;
};

}  // namespace phantomd
