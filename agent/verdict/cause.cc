#include "agent/verdict/cause.h"

#include <algorithm>

namespace phantomd {
namespace {

Cause CauseOf(const ClusterEvidence& listing, BootTime syn, Nanos dropped_memory) {
  const ClusterBelief& belief = listing.belief;
  // Its hosts are those that clients asked for, kept for a while: nobody assigned them.
  if (belief.discovery == Discovery::kOriginalDst) return Cause::kClientAddress;
  if (belief.hold == Hold::kDropped) return Cause::kAfterRemoval;
  if (belief.left_before.is_set() && syn - belief.left_before <= dropped_memory) {
    return Cause::kAfterRemoval;
  }
  if (belief.hold == Hold::kHostSet) return Cause::kHeldByProxy;
  switch (belief.discovery) {
    case Discovery::kStatic:
      return Cause::kStaticConfig;
    case Discovery::kStrictDns:
    case Discovery::kLogicalDns:
    case Discovery::kCustom:  // those that list addresses (dynamic forward proxy, redis) resolve
                              // names
      return Cause::kStaleDns;
    default:
      return Cause::kStaleEds;
  }
}

// The order in which causes count where several clusters list the address.
int Rank(Cause cause) {
  switch (cause) {
    case Cause::kStaleEds:
      return 0;
    case Cause::kHeldByProxy:
      return 1;
    case Cause::kStaleDns:
      return 2;
    case Cause::kStaticConfig:
      return 3;
    case Cause::kAfterRemoval:
      return 4;
    default:
      return 5;
  }
}

// A cluster that means the new holder does not explain why the connection was meant for another.
bool Agrees(const ClusterEvidence& listing, const Possibility& chosen, const Evidence& evidence) {
  if (chosen.destination != DestinationClass::kReused) return true;
  const size_t index = static_cast<size_t>(chosen.holder - evidence.address.holders.data());
  return MeaningUnder(&listing, index, evidence) == Meaning::kNotMeant;
}

}  // namespace

Explanation ExplainBelief(const Possibility& chosen, const Attempt& attempt,
                          const Evidence& evidence, const Candidates& candidates,
                          Nanos dropped_memory) {
  const auto cause_of = [&](const ClusterEvidence& listing) {
    return CauseOf(listing, attempt.started, dropped_memory);
  };
  const bool to_explain = TellsOfDeparture(chosen.destination);
  Explanation out;
  if (attempt.initiator == Initiator::kApplication) {
    if (to_explain) out.cause = Cause::kBypass;
    return out;
  }
  const bool some_hold = std::any_of(candidates.begin(), candidates.end(),
                                     [](auto* c) { return c != nullptr && c->held(); });
  const ClusterEvidence* best = nullptr;
  for (const ClusterEvidence* candidate : candidates) {
    if (candidate == nullptr || (some_hold && !candidate->held()) ||
        !Agrees(*candidate, chosen, evidence))
      continue;
    if (best == nullptr || Rank(cause_of(*candidate)) < Rank(cause_of(*best))) best = candidate;
  }
  if (best != nullptr) {
    out.layer = best->belief.layer;
    out.cluster = best->belief.cluster;
  } else if (evidence.has_original_dst) {
    out.layer = evidence.original_dst_layer;
  }
  if (!to_explain) return out;
  if (!evidence.belief_usable) {
    out.cause = Cause::kUnknownBelief;
  } else {
    out.cause = best != nullptr ? cause_of(*best) : Cause::kClientAddress;
  }
  return out;
}

}  // namespace phantomd
