#include "agent/verdict/likelihood.h"

namespace phantomd {
namespace {

using Who = Possibility::Who;

// How long a pod's network namespace outlives its containers, usually at most.
constexpr Nanos kTeardown = std::chrono::seconds(1);

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

// The RST came from the holder's network namespace before its address was told: the last one's was
// gone by then.
bool RefusedByTheNext(const PossibleHolder& holder, const Attempt& attempt,
                      const TenancyFacts& last) {
  if (attempt.outcome != Outcome::kRefused) return false;
  if (attempt.started >= holder.tenancy.likely_acquired) return false;
  return last.pod != PodHandle::kNone && attempt.started - last.likely_released > kTeardown;
}

}  // namespace

const Possibility* Likeliest(const Possibilities& left, const Attempt& attempt,
                             const TenancyFacts& last) {
  const Possibility* nobody = nullptr;
  for (const Possibility& p : left) {
    if (p.who == Who::kNobody) nobody = &p;
  }
  if (nobody != nullptr && FirstSynUnanswered(attempt)) return nobody;
  Nanos distance{0};
  const PossibleHolder* holder = NearestHolder(left, attempt.started, distance);
  if (holder == nullptr) return nobody;
  const bool outside = distance > Nanos(0);
  if (nobody != nullptr && outside && !RefusedByTheNext(*holder, attempt, last)) return nobody;
  return OfHolder(left, holder, attempt.started);
}

}  // namespace phantomd
