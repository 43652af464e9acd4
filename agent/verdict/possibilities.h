// What may have been true of the destination at the SYN, after what the connection itself proves.
//
// Example: A's tenancy ended in [20 s, 22 s], SYN at 21 s. Possible: A (withdrawn by then), nobody.
// The connection was established without a SYN retransmission: somebody answered, so A is left.
#pragma once

#include "absl/container/inlined_vector.h"
#include "agent/verdict/evidence.h"
#include "agent/verdict/service_meaning.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

struct Possibility {
  enum class Who {
    kPod,     // holder held it
    kNobody,  // no pod held it
    kUntold,  // a pod held it that we were not told of
  };
  Who who = Who::kNobody;
  DestinationClass destination = DestinationClass::kUnspecified;
  UnknownReason unknown_reason = UnknownReason::kUnspecified;  // with kUnknown
  const PossibleHolder* holder = nullptr;                      // with kPod
  const ClusterEvidence* listing = nullptr;  // the cluster that was used, if this is so
  bool guessed = false;  // even alone it is only likely: the agent may be younger than the death
};
using Possibilities = absl::InlinedVector<Possibility, 4>;

// Nobody answered the first SYN: it was silent, or failed on the way, or only a retransmission was
// answered. It makes "nobody" the likelier, and proves nothing.
bool FirstSynUnanswered(const Attempt& attempt);
// Nothing ever came back from the address itself.
bool NeverAnswered(const Attempt& attempt);
// The SYN itself was answered: somebody held the address.
bool ProvesHolder(const Attempt& attempt);

// What no pod is known to have held may have been a pod's all the same: one of which we were not
// told, or that was gone before the agent began, and its Node with it.
bool MayBeUnknownPods(const AddressFacts& address);

// What is left; may be empty.
Possibilities PossibilitiesLeft(const Attempt& attempt, const Evidence& evidence,
                                const Candidates& candidates, const JudgeContext& context);

}  // namespace phantomd
