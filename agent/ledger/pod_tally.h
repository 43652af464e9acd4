// PodTally: what the attempts to one departed pod's addresses came to, from its withdrawal on.
//
// A rollout's figures are the sum over its pods, made when asked for, because which rollout took a
// pod away may be settled later than its connections are judged. Plain value.
#pragma once

#include <cstdint>
#include <map>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/wait_sketch.h"
#include "agent/verdict/attempt.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

struct PodTally {
  struct OfProxy {
    uint64_t attempts = 0;
    uint64_t phantoms = 0;
    BootTime last;  // SYN of the last attempt

    friend bool operator==(const OfProxy&, const OfProxy&) = default;
  };
  // An established connection on which nothing is answered any more.
  struct Stall {
    BootTime ended;
    Nanos after{0};  // since the pod's end

    friend bool operator==(const Stall&, const Stall&) = default;
  };

  void Count(const Attempt& attempt, const ProxyId& proxy, const Verdict& verdict);
  // `after`: from the pod's end to the connection's. A silent connection is told of twice, as
  // STALLED and by the end it came to: it is counted once, by the latter.
  void CountStranded(const ConnectionEnd& end, Nanos after);
  // No other end is awaited of connections that fell silent before `t`.
  void SettleStalls(BootTime t);
  void Add(const PodTally& other);
  // All but the windows and `finished`.
  ChangeFigures Figures() const;

  uint64_t withdrawn = 0, dead = 0, reused = 0, other = 0;
  std::map<Cause, uint64_t> by_cause;
  std::map<Outcome, uint64_t> by_outcome;
  std::map<Layer, uint64_t> by_layer;
  WaitSketch waits;
  std::map<ConnectionEnd::How, WaitSketch> stranded;  // from the pod's end to the connection's
  std::map<uint64_t, Stall> stalled;                  // by socket cookie; not in `stranded`
  // Of the proxies' own connections: an application that goes around its proxy tells nothing of
  // what the proxy believed.
  std::map<ProxyId, OfProxy> proxies;

  friend bool operator==(const PodTally&, const PodTally&) = default;
};

}  // namespace phantomd
