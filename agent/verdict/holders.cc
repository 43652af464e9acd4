#include "agent/verdict/holders.h"

#include <algorithm>

namespace phantomd {
namespace {

// The likely instant of a change known to lie before the SYN. Unset: it did not happen, or not
// before.
BootTime LikelyBefore(const TimeBounds& bounds, BootTime likely, BootTime syn) {
  if (likely == BootTime::Max() || bounds.not_before > syn) return BootTime();
  return std::min(std::max(likely, bounds.not_before), syn);
}

BootTime LikelyWithdrawn(const EarlierTenancy& earlier, Nanos typical_delay, BootTime syn) {
  if (!earlier.withdrawn.happened()) return BootTime();
  return LikelyBefore(earlier.withdrawn, earlier.withdrawn.not_after - typical_delay, syn);
}

// Whether the Service of the cluster that was used meant the pod; of any that lists the address, if
// none is known to have been used.
bool Meant(const EarlierTenancy& earlier, const Evidence& evidence, std::string_view used) {
  for (size_t i = 0; i < evidence.listings.size(); ++i) {
    const bool counts = used.empty() || evidence.listings[i].belief.cluster == used;
    if (counts && earlier.meant[i]) return true;
  }
  return false;
}

// The tenancy whose end the proxy missed: of those that may have ended by the SYN the newest that
// the Service of the cluster `used` meant, else the newest. A lost node's pods never ended as far
// as the API tells, so without any that ended the newest one counts.
const EarlierTenancy* StaleTenancy(const Evidence& evidence, PodHandle current, BootTime syn,
                                   std::string_view used) {
  const EarlierTenancy* newest = nullptr;
  const EarlierTenancy* newest_ended = nullptr;
  for (const EarlierTenancy& earlier : evidence.earlier) {
    if (earlier.tenancy.pod == current) continue;
    if (newest == nullptr) newest = &earlier;
    if (earlier.tenancy.released.not_before > syn) continue;
    if (Meant(earlier, evidence, used)) return &earlier;
    if (newest_ended == nullptr) newest_ended = &earlier;
  }
  return newest_ended != nullptr ? newest_ended : newest;
}

}  // namespace

void NameHolders(const Possibility& chosen, const Attempt& attempt, const Evidence& evidence,
                 Nanos typical_delay, Verdict& verdict) {
  const BootTime syn = attempt.started;
  if (chosen.who == Possibility::Who::kPod) verdict.current_holder = chosen.holder->tenancy.pod;
  switch (chosen.destination) {
    case DestinationClass::kWithdrawn: {
      const PossibleHolder& holder = *chosen.holder;
      verdict.last_holder = holder.tenancy.pod;
      verdict.withdrawn = LikelyBefore(holder.withdrawn, holder.likely_withdrawn, syn);
      return;
    }
    case DestinationClass::kDead:
    case DestinationClass::kReused:
    case DestinationClass::kUnknown: {
      const EarlierTenancy* stale =
          StaleTenancy(evidence, verdict.current_holder, syn, verdict.cluster);
      if (stale == nullptr) return;
      verdict.last_holder = stale->tenancy.pod;
      verdict.withdrawn = LikelyWithdrawn(*stale, typical_delay, syn);
      if (chosen.destination != DestinationClass::kUnknown) {
        // The verdict says that it was gone: had its end not been reported by now (a node lost in
        // silence), the SYN itself is the first sign of it.
        const BootTime likely = std::min(stale->tenancy.likely_released, syn);
        verdict.dead = std::max(likely, std::min(stale->tenancy.released.not_before, syn));
      }
      return;
    }
    default:
      return;
  }
}

PodHandle LikelyHolder(const AddressFacts& address, BootTime t) {
  for (const PossibleHolder& holder : address.holders) {
    if (holder.sure) return holder.tenancy.pod;
  }
  for (const PossibleHolder& holder : address.holders) {
    if (holder.tenancy.likely_acquired <= t && t < holder.tenancy.likely_released) {
      return holder.tenancy.pod;
    }
  }
  return PodHandle::kNone;
}

}  // namespace phantomd
