// Ledger counts judged attempts: per proxy, per departed pod (of which a rollout is the sum), and
// in the cells of the metrics; it keeps the recent connections to withdrawn, dead or reused
// addresses in a bounded ring.
//
// Counts belong to the departed *pod*, not to the rollout, because a departure may be settled after
// its connections were judged: a rollout's figures are summed over its pods when asked for. The sum
// over classes equals the number of attempts, in all, per proxy and per rollout.
//
// What counts for a departed pod: every attempt whose verdict names it as last holder and is
// WITHDRAWN, DEAD or REUSED; and, as `other`, one of another class (UNKNOWN, LIVE again) whose SYN
// lies behind the pod's withdrawal or its certain end.
// Example: pod A, withdrawn at 100 s, dead at 105 s. SYNs at 99 s LIVE, 101 s WITHDRAWN, 106 s
// DEAD, 107 s UNKNOWN with last holder A: A's figures are withdrawn 1, dead 1, other 1.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/nouns.h"
#include "agent/belief/belief.h"
#include "agent/ledger/connection.h"
#include "agent/ledger/metric_cells.h"
#include "agent/ledger/wait_sketch.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/attempt.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

// What one proxy's connections to one change's departing pods came to.
struct WindowFigures {
  ProxyId proxy;
  BootTime opened;  // first address withdrawn
  BootTime closed;  // the middle of what is known of the last address's removal; unset: still open
  Nanos closed_error{0};     // half-width
  BootTime last_connection;  // SYN of the last attempt; unset: none
  uint64_t attempts = 0;
  uint64_t phantoms = 0;
  bool believed = false;  // else it only connected, and the window is as long as it does

  friend bool operator==(const WindowFigures&, const WindowFigures&) = default;
};

struct ChangeFigures {
  uint64_t withdrawn = 0, dead = 0, reused = 0, other = 0;  // attempts is their sum
  std::map<Cause, uint64_t> by_cause;                       // DEAD + REUSED only, like the next two
  std::map<Outcome, uint64_t> by_outcome;
  std::map<Layer, uint64_t> by_layer;
  Nanos wait_p50{0}, wait_max{0}, wait_total{0};  // SYN to outcome of its phantoms; p50 within 1 %
  // Established connections that outlived their pod, by how they ended: how long after its end.
  std::map<ConnectionEnd::How, WaitSketch> stranded;
  std::vector<WindowFigures> windows;  // slowest first; open ones before closed ones
  Nanos window_p50{0}, window_max{0};  // of the closed ones; an open one counts up to `now`
  // Last pod dead and every proxy has dropped every address; unset: not yet, or no longer, because
  // another pod has gone since.
  BootTime finished;
};

struct ProxyFigures {
  uint64_t attempts = 0;
  std::map<DestinationClass, uint64_t> by_class;
};

class Counted;  // counted.h

class Ledger {
 public:
  struct Options {
    size_t ring = 100'000;  // connections kept; the oldest is dropped first, and counted
    size_t max_cells =
        20'000;  // metric cells; beyond it new label values go to the workload "other"
    Nanos gone_memory = std::chrono::minutes(10);  // how long the series of a gone proxy stay
    Nanos typical_delay = std::chrono::milliseconds(100);  // how old news usually is
  };
  explicit Ledger(Options options);
  ~Ledger();

  // Counts one judged attempt and, for WITHDRAWN, DEAD and REUSED, keeps the connection. `proxy`
  // may be null (no proxy known for it).
  void Count(const Attempt& attempt, const Proxy* proxy, const Verdict& verdict,
             const Lifecycle& lifecycle, BootTime now);
  // An INTERCEPTED or PROXY_CONTROL attempt: counted apart, never judged.
  void CountNotJudged(const Attempt& attempt);
  // An established connection that outlived its pod, by `after`.
  void CountStranded(const ConnectionEnd& end, PodHandle pod, Nanos after);
  void ProxyGone(const ProxyId& proxy, BootTime when);
  void ProxyReturned(const ProxyId& proxy);

  // Closes windows that have ended by now; call it after news. A window is final, and observed once
  // in the window histogram, when the change is superseded or all its pods are dead, two minutes
  // after the last one left: until then another pod may join the change and open it again.
  void UpdateWindows(const Lifecycle& lifecycle, const Belief& belief, BootTime now);
  // Forgets what has not been counted since `horizon`, and the series of proxies that have been
  // gone for gone_memory. Totals stay.
  void Compact(BootTime horizon, BootTime now);

  ChangeFigures FiguresOf(const WorkloadChange& change, const Lifecycle& lifecycle,
                          const Belief& belief, BootTime now) const;
  ProxyFigures FiguresOf(const ProxyId& proxy) const;

  uint64_t attempts() const;
  const std::map<DestinationClass, uint64_t>& by_class() const;
  const std::map<Initiator, uint64_t>& not_judged() const;
  uint64_t dropped() const;  // connections pushed out of the ring

  ConnectionChunks Connections() const;  // oldest first; shares, copies no connection
  MetricCells Cells() const;             // stale is left to the engine

  // All that was counted, as what to tell an empty Ledger of the same Options, in this order, so
  // that it goes on counting. Both ledgers' pods go by their UIDs in `lifecycle`.
  void Export(const Lifecycle& lifecycle, const std::function<void(Counted)>& sink) const;
  void Restore(const Counted& part, const Lifecycle& lifecycle);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace phantomd
