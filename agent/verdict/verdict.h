// Judge: one attempt + what the lifecycle and the proxy's belief allow -> one verdict, by
// elimination.
//
// Three steps, in the order of the text that explains a verdict to a person: what may have been
// true at the SYN (the possible holders, nobody, a pod we were not told of), what this connection
// proves (an answer without a SYN retransmission excludes "nobody"), what is left. One class left
// is CERTAIN; several are INFERRED, the likeliest wins. Example: A's tenancy ended in [20 s, 22 s],
// the SYN was at 21 s and nobody answered: A WITHDRAWN or nobody DEAD are both possible -> DEAD,
// INFERRED. The same SYN answered at once: A it was -> WITHDRAWN, CERTAIN.
//
// A pure function without state.
#pragma once

#include <string_view>

#include "agent/belief/belief.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/attempt.h"

namespace phantomd {

// What stood behind the destination address at the instant of the SYN.
enum class DestinationClass {
  kUnspecified = 0,
  kLive = 1,       // a pod in service, the one the proxy meant
  kWithdrawn = 2,  // still alive, but already taken out of service
  kDead = 3,       // nobody. Phantom.
  kReused =
      4,  // another workload than the one the proxy believes in. Phantom, even when it succeeds.
  kExternal = 5,  // not a pod address
  kUnknown = 6,   // cannot be told; see UnknownReason
};

enum class UnknownReason {
  kUnspecified = 0,
  kBeforeHorizon = 1,
  kFeedGap = 2,
  kStartRace = 3,
  kRemoteCluster = 4,
};

enum class Certainty {
  kUnspecified = 0,
  kCertain = 1,   // holds for every possible order of the facts within their error bounds
  kInferred = 2,  // more than one class was possible; the likeliest, given how the connect ended
};

// Why the proxy connected to an address that was no longer in service.
enum class Cause {
  kUnspecified = 0,
  kStaleEds = 1,
  kHeldByProxy = 2,
  kStaleDns = 3,
  kClientAddress = 4,
  kStaticConfig = 5,
  kAfterRemoval = 6,
  kBypass = 7,
  kUnknownBelief = 8,
};

constexpr bool IsPhantom(DestinationClass c) {
  return c == DestinationClass::kDead || c == DestinationClass::kReused;
}

// The connection went to a pod that was on its way out of service or gone; such a verdict has a
// cause.
constexpr bool TellsOfDeparture(DestinationClass c) {
  return c == DestinationClass::kWithdrawn || IsPhantom(c);
}

struct Verdict {
  DestinationClass destination = DestinationClass::kUnspecified;
  Certainty certainty = Certainty::kUnspecified;
  UnknownReason unknown_reason = UnknownReason::kUnspecified;
  Cause cause = Cause::kUnspecified;  // of WITHDRAWN, DEAD and REUSED only
  Layer layer = Layer::kUnspecified;
  std::string_view
      cluster;  // the cluster that believed in it; valid as long as the Belief is unchanged
  PodHandle last_holder =
      PodHandle::kNone;  // whose departure made it stale: the last holder, or the withdrawn pod
  PodHandle current_holder = PodHandle::kNone;  // who held it at the SYN (LIVE, WITHDRAWN, REUSED)
  PodHandle holder_at_outcome = PodHandle::kNone;  // who held it when the outcome came, if another
  BootTime withdrawn;  // likely instant of last_holder's withdrawal before the SYN; unset: none
  BootTime dead;       // likely instant of last_holder's end before the SYN; unset: none
};

// What more would make the verdict firmer, were the caller to wait.
struct Wants {
  bool pod_end = false;    // a failed attempt to a withdrawn pod whose end nobody has reported yet
  bool node_news = false;  // a silent attempt to a live pod: its node may yet be declared lost
  bool poll =
      false;  // the belief that would explain it, or that tells REUSED from LIVE, is missing; or
              // the word of the proxy's ORIGINAL_DST clusters that no client went through them
};

// What the judge cannot read from lifecycle and belief.
struct JudgeContext {
  bool before_watermark =
      false;  // the end of a recording, or a limit: news may be missing -> never CERTAIN
  bool poll_missing = false;      // the poll it waited for did not come -> never CERTAIN
  bool node_fell_silent = false;  // two or more pods of the holder's node fell silent to everyone,
                                  // and the Node then turned not ready
  Nanos dropped_memory =
      std::chrono::seconds(60);  // how long after its removal an endpoint explains AFTER_REMOVAL
  Nanos typical_delay = std::chrono::milliseconds(100);  // how old news usually is
  std::string_view mesh_cluster;  // the mesh's name of this cluster, where known
};

struct Judgement {
  Verdict verdict;
  Wants wants;
};

// Only PROXY and APPLICATION attempts are judged: INTERCEPTED ones are downstream halves,
// PROXY_CONTROL ones have no caller. `proxy` is the attempt's proxy, empty if none is known (no
// belief then).
Judgement Judge(const Attempt& attempt, const ProxyId& proxy, const Lifecycle& lifecycle,
                const Belief& belief, const JudgeContext& context);

}  // namespace phantomd
