// EndQueue keeps the ends of established connections until it can be told which of them outlived
// their pod: stranded connections.
//
// A connection is stranded when the pod that held the address as it was established was dead when
// the connection ended. What ended by a FIN is never stranded. A RST within the bounds of the pod's
// end is the farewell of the dying pod's kernel; silence within them is already that of the dead.
// Example: pod A died in [20 s, 21 s]; a connection of 5 s that was reset at 25 s outlived it by
// 4.5 s; one that was reset at 20.5 s did not; one that was STALLED at 20.5 s did.
//
// An end is decided judgement_delay after it happened. It waits longer for the same reasons as an
// attempt does, and as long: behind a broken feed, for the untold end of a withdrawn pod, and, if
// it is a silent one, for the loss of the node. Thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/engine/held_end.h"
#include "agent/engine/input.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/attempt.h"

namespace phantomd {

class EndQueue {
 public:
  using Number = uint64_t;  // grows in the order of arrival

  struct Stranded {
    PodHandle pod = PodHandle::kNone;
    Nanos after{0};  // the pod's end
  };
  struct Decision {
    bool wait = false;
    BootTime until;                    // with wait
    bool for_feed = false;             // with wait; else for news of the address
    std::optional<Stranded> stranded;  // without: it did not outlive its pod
  };
  // `broken_since`: the earliest good_until of the broken feeds, else Max. `at` Max: wait no more.
  static Decision Decide(HeldEnd& held, BootTime at, BootTime broken_since,
                         const Settings& settings, const Lifecycle& lifecycle);

  void Add(HeldEnd held);
  std::optional<Number> FirstDue(BootTime until) const;
  std::optional<Number> Oldest() const;
  HeldEnd& Get(Number number) { return ends_.at(number); }
  void Wait(Number number, const Decision& decision);
  HeldEnd Take(Number number);

  std::vector<Number> WokenByAddress(const IpAddr& ip) const;
  std::vector<Number> WokenByFeed() const;

  const std::map<Number, HeldEnd>& all() const { return ends_; }
  size_t size() const { return ends_.size(); }

 private:
  void Insert(Number number, HeldEnd held);

  std::map<Number, HeldEnd> ends_;
  std::set<std::pair<BootTime, Number>> turns_;
  absl::flat_hash_map<IpAddr, std::set<Number>> by_address_;  // those that wait for news
  std::set<Number> by_feed_;
  Number next_ = 1;
};

}  // namespace phantomd
