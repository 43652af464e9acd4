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

}  // namespace

Candidates CandidateClusters(const Attempt& attempt, const Evidence& evidence,
                             Nanos dropped_memory) {
  Candidates candidates;
  if (attempt.initiator != Initiator::kApplication) {
    for (const ClusterEvidence& listing : evidence.listings) {
      if (listing.held()) candidates.push_back(&listing);
    }
    NarrowByConnectCounts(candidates);
    if (candidates.empty()) {
      for (const ClusterEvidence& listing : evidence.listings) {
        if (attempt.started - listing.belief.gone_by <= dropped_memory) {
          candidates.push_back(&listing);
        }
      }
      if (!candidates.empty()) {
        std::stable_sort(candidates.begin(), candidates.end(), [](auto* a, auto* b) {
          return a->belief.gone_by > b->belief.gone_by;  // the latest removal explains it best
        });
        candidates.push_back(nullptr);
        return candidates;
      }
    }
  }
  if (candidates.empty()) candidates.push_back(nullptr);
  std::stable_sort(candidates.begin(), candidates.end(), [&](auto* a, auto* b) {
    return a && b && Credibility(*a, attempt.started) > Credibility(*b, attempt.started);
  });
  return candidates;
}

Meaning MeaningUnder(const ClusterEvidence* candidate, size_t holder, const Evidence& evidence) {
  if (candidate == nullptr || candidate->belief.service.empty()) return Meaning::kNoOpinion;
  const Meaning meaning = candidate->meanings[holder];
  if (meaning == Meaning::kNotMeant && evidence.address.slices_broken) return Meaning::kNoOpinion;
  return meaning;
}

}  // namespace phantomd
