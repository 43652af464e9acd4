#include "agent/verdict/likelihood.h"

namespace phantomd {
namespace {

using Who = Possibility::Who;

// How far the SYN lies outside the likely tenancy; 0: inside.
Nanos DistanceFrom(const TenancyFacts& tenancy, BootTime syn) {
  if (syn < tenancy.likely_acquired) return tenancy.likely_acquired - syn;
  if (syn >= tenancy.likely_released) return syn - tenancy.likely_released;
  return Nanos(0);
}

// The holder whose likely tenancy is nearest to the SYN. Holders come newest first, so that of two
// that likely hold it, the newer one wins: the older one's end is merely not reported yet.
const PossibleHolder* NearestHolder(const Possibilities& left, BootTime syn, Nanos& distance) {
  const PossibleHolder* best = nullptr;
  for (const Possibility& p : left) {
    if (p.who != Who::kPod) continue;
    const Nanos d = DistanceFrom(p.holder->tenancy, syn);
    if (best == nullptr || d < distance) {
      best = p.holder;
      distance = d;
    }
  }
  return best;
}

// Of one holder: the most credible cluster's opinion, then its likely state. Possibilities of one
// holder come with the most credible cluster first.
const Possibility* OfHolder(const Possibilities& left, const PossibleHolder* holder, BootTime syn) {
  const DestinationClass state =
      syn >= holder->likely_withdrawn ? DestinationClass::kWithdrawn : DestinationClass::kLive;
  const Possibility* first = nullptr;
  for (const Possibility& p : left) {
    if (p.holder != holder) continue;
    if (first == nullptr) first = &p;
    if (p.listing != first->listing) break;
    if (p.destination == DestinationClass::kReused || p.destination == state) return &p;
  }
  return first;
}

}  // namespace

const Possibility* Likeliest(const Possibilities& left, const Attempt& attempt) {
  const Possibility* nobody = nullptr;
  for (const Possibility& p : left) {
    if (p.who == Who::kNobody) nobody = &p;
  }
  if (nobody != nullptr && FirstSynUnanswered(attempt)) return nobody;
  Nanos distance{0};
  const PossibleHolder* holder = NearestHolder(left, attempt.started, distance);
  if (holder == nullptr || (nobody != nullptr && distance > Nanos(0))) return nobody;
  return OfHolder(left, holder, attempt.started);
}

}  // namespace phantomd
