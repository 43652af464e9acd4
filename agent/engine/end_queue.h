// EndQueue keeps the ends of established connections until news about that instant has had time to
// arrive, then tells which of them outlived their pod: stranded connections.
//
// A connection is stranded when the pod that held the address as it was established was dead by the
// time it ended, and it did not end by a FIN. Example: pod A died in [20 s, 21 s], a connection
// established at 5 s was reset at 25 s: stranded, and counted for A. Thread-compatible.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/attempt.h"

namespace phantomd {

class EndQueue {
 public:
  struct Held {
    ConnectionEnd end;
    BootTime observed;
  };
  using Ends = std::map<std::pair<BootTime, uint64_t>, Held>;  // by due, then arrival

  void Add(ConnectionEnd end, BootTime observed, BootTime due);
  BootTime next() const { return ends_.empty() ? BootTime::Max() : ends_.begin()->first.first; }
  ConnectionEnd TakeFirst();
  const Ends& all() const { return ends_; }

  // The pod that the connection outlived; kNone: it did not.
  static PodHandle StrandedFrom(const ConnectionEnd& end, const Lifecycle& lifecycle);

 private:
  Ends ends_;
  uint64_t arrived_ = 0;
};

}  // namespace phantomd
