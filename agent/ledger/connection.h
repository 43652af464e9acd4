// Connection: one judged connection to a withdrawn, dead or reused address, with the evidence for
// its verdict.
//
// Immutable once counted (a verdict never changes); the rollout it belongs to is looked up by its
// last holder when it is shown, because a departure may be settled later.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/nouns.h"
#include "agent/lifecycle/departure.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/attempt.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

// One pod's hold on one address, as told to people.
struct Holder {
  PodRef pod;  // uid empty: no holder
  BootTime acquired;
  BootTime withdrawn;  // unset: in service
  BootTime released_not_before;
  BootTime released_not_after;  // unset: still held
  Departure departure = Departure::kUnspecified;
  std::string evidence;

  friend bool operator==(const Holder&, const Holder&) = default;
};

struct Connection {
  ProxyId proxy_id;
  std::string proxy_name;
  Initiator initiator = Initiator::kUnspecified;
  SocketAddr source;
  SocketAddr destination;
  BootTime started;
  Nanos duration{0};  // SYN to outcome
  Outcome outcome = Outcome::kUnspecified;
  int32_t error_number = 0;
  uint32_t syn_retransmits = 0;
  DestinationClass destination_class = DestinationClass::kUnspecified;
  Certainty certainty = Certainty::kUnspecified;
  UnknownReason unknown_reason = UnknownReason::kUnspecified;
  Cause cause = Cause::kUnspecified;
  Layer layer = Layer::kUnspecified;
  std::string cluster;
  Holder last_holder;
  Holder current_holder;
  Holder holder_at_outcome;
  Nanos since_withdrawn{0};  // 0: not withdrawn before the SYN
  Nanos since_dead{0};       // 0: not dead at the SYN
  uint64_t socket_cookie = 0;
  uint64_t sequence =
      0;  // 1, 2, 3, ... in the order of judgement; WatchConnections and paging count by it

  friend bool operator==(const Connection&, const Connection&) = default;
};

// One judged attempt with its evidence as it is known at the judgement, `now`. `proxy` may be null:
// none known. The sequence is left to whoever counts.
Connection ConnectionOf(const Attempt& attempt, const Proxy* proxy, const Verdict& verdict,
                        const Lifecycle& lifecycle, BootTime now);

// A tenancy as it is told to people.
Holder HolderOf(const TenancyFacts& tenancy, const TimeBounds& withdrawn, Departure departure);

// The ring of judged connections as immutable chunks, oldest first: a reader shares them with the
// core for free.
using ConnectionChunk = std::vector<std::shared_ptr<const Connection>>;
using ConnectionChunks = std::vector<std::shared_ptr<const ConnectionChunk>>;

}  // namespace phantomd
