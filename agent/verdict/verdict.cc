#include "agent/verdict/verdict.h"

#include "agent/verdict/eliminate.h"
#include "agent/verdict/evidence.h"
#include "agent/verdict/holders.h"
#include "agent/verdict/possibilities.h"

namespace phantomd {

Judgement Judge(const Attempt& attempt, const ProxyId& proxy, const Lifecycle& lifecycle,
                const Belief& belief, const JudgeContext& context) {
  Judgement out = Eliminate(attempt, Gather(attempt, proxy, lifecycle, belief), context);
  // A LIVE connection whose SYN was answered had the same holder at its outcome, a round trip
  // later.
  const bool may_have_changed =
      out.verdict.destination != DestinationClass::kLive || FirstSynUnanswered(attempt);
  if (may_have_changed && out.verdict.destination != DestinationClass::kExternal) {
    const AddressFacts at_outcome = lifecycle.At(attempt.destination.ip, attempt.ended);
    const PodHandle holder = LikelyHolder(at_outcome, attempt.ended);
    if (holder != out.verdict.current_holder) out.verdict.holder_at_outcome = holder;
  }
  return out;
}

}  // namespace phantomd
