#include "agent/verdict/possibilities.h"

#include <algorithm>

namespace phantomd {
namespace {

using Who = Possibility::Who;

UnknownReason ReasonOf(UntoldReason reason) {
  switch (reason) {
    case UntoldReason::kBeforeFirstSync:
      return UnknownReason::kBeforeHorizon;
    case UntoldReason::kFeedBroken:
      return UnknownReason::kFeedGap;
    case UntoldReason::kAddressUntold:
      return UnknownReason::kStartRace;
    case UntoldReason::kNone:
      break;
  }
  return UnknownReason::kUnspecified;
}

// Rule 4 for one pod: not meant -> REUSED, withdrawn -> WITHDRAWN (both, inside the clock's
// bounds), any other -> LIVE. Once per cluster that may have been used.
void AddPod(size_t index, const Evidence& evidence, const Candidates& candidates,
            Possibilities& out) {
  const PossibleHolder& holder = evidence.address.holders[index];
  for (const ClusterEvidence* candidate : candidates) {
    const auto add = [&](DestinationClass destination) {
      out.push_back(
          {.who = Who::kPod, .destination = destination, .holder = &holder, .listing = candidate});
    };
    if (MeaningUnder(candidate, index, evidence) == Meaning::kNotMeant) {
      add(DestinationClass::kReused);
      continue;
    }
    if (holder.may_be_withdrawn) add(DestinationClass::kWithdrawn);
    if (holder.may_be_in_service) add(DestinationClass::kLive);
  }
}

// An endpoint that another cluster of the mesh owns, as far as this one can tell.
bool IsRemote(const ClusterEvidence& listing, const AddressFacts& address,
              const JudgeContext& context) {
  if (!listing.belief.mesh_cluster.empty() && !context.mesh_cluster.empty() &&
      listing.belief.mesh_cluster != context.mesh_cluster) {
    return true;
  }
  // Endpoints outside any Service (a static address, an external host) are not another cluster's.
  if (listing.belief.service.empty()) return false;
  return !listing.service_known || (address.pod_ranges_known && !address.in_pod_range);
}

// Rule 4 for "no pod held it". Only an address that some pod has held is surely a dead pod's.
Possibility NoPod(const Evidence& evidence, const Candidates& candidates,
                  const JudgeContext& context) {
  const AddressFacts& address = evidence.address;
  Possibility p{.who = Who::kNobody, .destination = DestinationClass::kDead};
  if (address.ever_held) return p;
  if (address.node_address || address.listed_without_pod) {
    p.destination = DestinationClass::kExternal;
    return p;
  }
  if (address.listed_with_pod || address.in_pod_range) return p;
  for (const ClusterEvidence* candidate : candidates) {
    if (candidate == nullptr) continue;
    if (!candidate->belief.service.empty() && !evidence.slices_told) {
      p.destination =
          DestinationClass::kUnknown;  // a Service, but of which cluster nobody told yet
      p.unknown_reason = UnknownReason::kBeforeHorizon;
      return p;
    }
    if (IsRemote(*candidate, address, context)) {
      p.destination = DestinationClass::kUnknown;
      p.unknown_reason = UnknownReason::kRemoteCluster;
      return p;
    }
    if (candidate->service_known) {
      p.guessed = true;  // its slices list others: this one died before the agent began
      return p;
    }
  }
  p.destination = DestinationClass::kExternal;
  return p;
}

}  // namespace

bool MayBeUnknownPods(const AddressFacts& address) {
  return !address.node_address && !address.no_pod_address;
}

bool NeverAnswered(const Attempt& attempt) {
  return attempt.outcome == Outcome::kTimedOut || attempt.outcome == Outcome::kAbandoned ||
         attempt.outcome == Outcome::kUnreachable;
}

bool FirstSynUnanswered(const Attempt& attempt) {
  return NeverAnswered(attempt) || attempt.outcome == Outcome::kNoRoute ||
         attempt.syn_retransmits > 0;
}

bool ProvesHolder(const Attempt& attempt) {
  return attempt.outcome == Outcome::kEstablished && attempt.syn_retransmits == 0;
}

Possibilities PossibilitiesLeft(const Attempt& attempt, const Evidence& evidence,
                                const Candidates& candidates, const JudgeContext& context) {
  const AddressFacts& address = evidence.address;
  Possibilities left;
  bool sure = false;
  for (size_t i = 0; i < address.holders.size(); ++i) {
    AddPod(i, evidence, candidates, left);
    sure = sure || address.holders[i].sure;
  }
  // A node that fell silent took its pods with it, whatever the API still says of them.
  const bool node_lost = context.node_fell_silent && NeverAnswered(attempt);
  if (address.nobody || node_lost) {
    const Possibility nobody = NoPod(evidence, candidates, context);
    // An answer excludes "nobody", but an address that is no pod's may well answer.
    if (nobody.destination != DestinationClass::kDead || !ProvesHolder(attempt)) {
      left.push_back(nobody);
    }
  }
  const bool for_pods = address.ever_held || address.listed_with_pod || MayBeUnknownPods(address);
  if (!sure && address.untold != UntoldReason::kNone && for_pods) {
    left.push_back({.who = Who::kUntold,
                    .destination = DestinationClass::kUnknown,
                    .unknown_reason = ReasonOf(address.untold)});
  }
  return left;
}

}  // namespace phantomd
