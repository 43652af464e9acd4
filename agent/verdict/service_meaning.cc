#include "agent/verdict/service_meaning.h"

#include <algorithm>

namespace phantomd {
namespace {

// A belief that was known before the SYN and still seen after it surrounds the SYN; one known
// before is earlier belief; one that only a later poll showed may have come afterwards.
int Credibility(const ClusterEvidence& listing, BootTime syn) {
  if (!listing.belief.received_before) return 0;
  return listing.belief.last_seen >= syn ? 2 : 1;
}

// Drops the clusters that surely did not connect, where the counts of others say that they did.
void NarrowByConnectCounts(Candidates& candidates) {
  const bool some_connected = std::any_of(candidates.begin(), candidates.end(),
                                          [](auto* c) { return c->belief.connects_around > 0; });
  if (!some_connected) return;
  candidates.erase(
      std::remove_if(candidates.begin(), candidates.end(),
                     [](const ClusterEvidence* c) { return c->belief.connects_around == 0; }),
      candidates.end());
}

// Clusters of equal rank stay in the order of the evidence, in which they lie in memory. (Unlike
// std::stable_sort, std::sort allocates nothing.)
template <typename Before>
void SortBy(Candidates& candidates, Before before) {
  std::sort(candidates.begin(), candidates.end(),
            [&](const ClusterEvidence* a, const ClusterEvidence* b) {
              if (before(*a, *b)) return true;
              return !before(*b, *a) && a < b;
            });
}

Candidates Holding(const Evidence& evidence, BootTime syn) {
  Candidates out;
  for (const ClusterEvidence& cluster : evidence.listings) {
    if (cluster.held()) out.push_back(&cluster);
  }
  NarrowByConnectCounts(out);
  SortBy(out,
         [&](const auto& a, const auto& b) { return Credibility(a, syn) > Credibility(b, syn); });
  return out;
}

// A connection that goes where no cluster leads any more comes this soon after the removal, if
// another cluster counted one at the time: there were two then.
constexpr Nanos kRetry = std::chrono::seconds(10);

// The latest removal explains it best. A cluster without an assignment lists what clients ask for:
// it had listed the address again.
Candidates LatelyHolding(const Evidence& evidence, BootTime syn, Nanos dropped_memory) {
  Candidates out;
  for (const ClusterEvidence& cluster : evidence.listings) {
    if (cluster.held() || cluster.belief.discovery == Discovery::kOriginalDst) continue;
    if (syn - cluster.belief.gone_by <= dropped_memory) out.push_back(&cluster);
  }
  SortBy(out, [](const auto& a, const auto& b) { return a.belief.gone_by > b.belief.gone_by; });
  return out;
}

}  // namespace

Candidates CandidateClusters(const Attempt& attempt, const Evidence& evidence,
                             Nanos dropped_memory) {
  if (attempt.initiator == Initiator::kApplication) return {nullptr};
  Candidates out = Holding(evidence, attempt.started);
  const bool none_holds = out.empty();
  const bool counted =
      std::any_of(out.begin(), out.end(), [](auto* c) { return c->belief.connects_around > 0; });
  const Nanos memory = counted ? std::min(kRetry, dropped_memory) : dropped_memory;
  const Candidates lately = LatelyHolding(evidence, attempt.started, memory);
  out.insert(out.end(), lately.begin(), lately.end());
  if (none_holds) out.push_back(nullptr);  // that none of them was used stays possible
  return out;
}

Meaning MeaningUnder(const ClusterEvidence* candidate, size_t holder, const Evidence& evidence) {
  if (candidate == nullptr || candidate->belief.service.empty()) return Meaning::kNoOpinion;
  const Meaning meaning = candidate->meanings[holder];
  if (meaning == Meaning::kNotMeant && evidence.address.slices_broken) return Meaning::kNoOpinion;
  return meaning;
}

}  // namespace phantomd
