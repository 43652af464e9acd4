#include "agent/verdict/certainty.h"

namespace phantomd {
namespace {

// What the slices say decides between these three.
bool RestsOnSlices(DestinationClass destination) {
  return destination == DestinationClass::kLive || destination == DestinationClass::kWithdrawn ||
         destination == DestinationClass::kReused;
}

// Its node may be gone: the API learns of that some 40 s later.
bool SilentPod(const Possibility& chosen, const Attempt& attempt) {
  return NeverAnswered(attempt) && chosen.who == Possibility::Who::kPod;
}

// Nobody tells which Service was meant, and the address had, or before the horizon may have had,
// another holder: the proxy may mean that one. It does if it listed the address before this one
// came. Soon after the agent began it may mean one that died before and left no other trace, if a
// client named the address itself or the proxy's very first poll listed it already; a static
// cluster, which is given its addresses once and for all, may mean that one for ever. Of a
// withdrawn pod that matters only where a cluster listed the address: what a client named means no
// Service.
bool MeaningUnknown(const Possibility& chosen, const Evidence& evidence) {
  const ClusterEvidence* listing = chosen.listing;
  const bool by_cluster =
      listing != nullptr && listing->belief.discovery != Discovery::kOriginalDst;
  const bool matters = chosen.destination == DestinationClass::kLive ||
                       (chosen.destination == DestinationClass::kWithdrawn && by_cluster);
  if (!matters) return false;
  const size_t index = static_cast<size_t>(chosen.holder - evidence.address.holders.data());
  if (MeaningUnder(listing, index, evidence) == Meaning::kMeant) return false;
  const bool listed_before =
      listing != nullptr && listing->belief.first_seen < chosen.holder->tenancy.acquired.not_before;
  const AddressFacts& address = evidence.address;
  const bool may_remember = evidence.soon_after_horizon ||
                            (by_cluster && listing->belief.discovery == Discovery::kStatic);
  const bool older_than_index = may_remember && (!by_cluster || listing->belief.since_first_poll);
  return address.other_holder_known || !address.history_complete || listed_before ||
         older_than_index;
}

// Whoever refused had a network namespace at the address: a pod whose object went before the agent
// began, by force, may go on running without anybody telling of it.
bool RefusedByNobodyKnown(const Possibility& chosen, const Attempt& attempt,
                          const AddressFacts& address) {
  return chosen.destination == DestinationClass::kDead && !address.ever_held &&
         attempt.outcome == Outcome::kRefused;
}

}  // namespace

// It goes through the proxy's ORIGINAL_DST cluster, whichever other cluster lists the address. That
// it did not, two things tell: a poll soon after the SYN, or a connect that the other cluster
// counted.
bool ClientMayMeanTheLast(const Possibility& chosen, const Attempt& attempt,
                          const Evidence& evidence) {
  const bool meant = chosen.destination == DestinationClass::kLive ||
                     chosen.destination == DestinationClass::kWithdrawn;
  if (!meant || !evidence.has_original_dst) return false;
  if (evidence.original_dst_unused) return false;
  if (chosen.listing != nullptr && chosen.listing->belief.connects_around > 0) return false;
  return LatelyHeldByAnother(attempt, evidence.address, chosen.holder->tenancy.pod);
}

bool NeverCertain(const Possibility& chosen, const Attempt& attempt, const Evidence& evidence,
                  const JudgeContext& context) {
  const AddressFacts& address = evidence.address;
  if (context.before_watermark || context.poll_missing) return true;
  if (attempt.adopted) return true;  // its SYN is known by an upper bound only
  if (chosen.guessed) return true;
  if (chosen.destination == DestinationClass::kExternal) return MayBeUnknownPods(address);
  if (address.pods_broken) return true;
  if (address.slices_broken && RestsOnSlices(chosen.destination)) return true;
  if (RefusedByNobodyKnown(chosen, attempt, address)) return true;
  if (ClientMayMeanTheLast(chosen, attempt, evidence)) return true;
  return SilentPod(chosen, attempt) || MeaningUnknown(chosen, evidence);
}

}  // namespace phantomd
