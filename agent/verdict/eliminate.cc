#include "agent/verdict/eliminate.h"

#include <algorithm>

#include "agent/verdict/cause.h"
#include "agent/verdict/certainty.h"
#include "agent/verdict/holders.h"
#include "agent/verdict/likelihood.h"
#include "agent/verdict/possibilities.h"
#include "agent/verdict/service_meaning.h"

namespace phantomd {
namespace {

bool OneClass(const Possibilities& left) {
  return std::all_of(left.begin(), left.end(), [&](const Possibility& p) {
    return p.destination == left.front().destination;
  });
}

// Only an untold pod is left, or nothing: somebody answered of whom we know nothing.
Possibility Unknown(const Possibilities& left, const Evidence& evidence) {
  if (!left.empty()) return left.front();
  return {.who = Possibility::Who::kUntold,
          .destination = DestinationClass::kUnknown,
          .unknown_reason =
              evidence.address.pods_broken ? UnknownReason::kFeedGap : UnknownReason::kStartRace};
}

// No poll can make another class of it: the address never had a holder that could be meant instead.
bool SurelyLive(const Possibility& chosen, const Evidence& evidence) {
  return chosen.destination == DestinationClass::kLive && chosen.holder->sure &&
         !chosen.holder->may_be_withdrawn && evidence.address.history_complete &&
         !evidence.address.other_holder_known;
}

// One cluster that may have been used means the pod, of another nobody tells: counts may tell which
// it was.
bool MeaningsDiffer(const Possibilities& left, const Evidence& evidence) {
  bool meant = false, not_told = false;
  for (const Possibility& p : left) {
    if (p.holder == nullptr || p.listing == nullptr) continue;
    const size_t index = static_cast<size_t>(p.holder - evidence.address.holders.data());
    const bool means_it = MeaningUnder(p.listing, index, evidence) == Meaning::kMeant;
    meant |= means_it;
    not_told |= !means_it;
  }
  return meant && not_told;
}

Wants WhatMoreWouldHelp(const Possibilities& left, const Possibility& chosen,
                        const Attempt& attempt, const Evidence& evidence) {
  using Who = Possibility::Who;
  const auto any = [&](auto&& holds) { return std::any_of(left.begin(), left.end(), holds); };
  Wants wants;
  const bool nobody = any([](const Possibility& p) { return p.who == Who::kNobody; });
  wants.pod_end = attempt.outcome != Outcome::kEstablished && nobody &&
                  any([](const Possibility& p) { return p.holder && p.holder->end_untold; });
  wants.node_news = NeverAnswered(attempt) && (chosen.destination == DestinationClass::kLive ||
                                               chosen.destination == DestinationClass::kReused);
  if (attempt.initiator != Initiator::kApplication && evidence.proxy_known &&
      !evidence.answered_after && !SurelyLive(chosen, evidence)) {
    const bool reused =
        any([](const Possibility& p) { return p.destination == DestinationClass::kReused; });
    const bool explained =
        std::any_of(evidence.listings.begin(), evidence.listings.end(),
                    [](const ClusterEvidence& listing) { return listing.held(); });
    wants.poll = reused || MeaningsDiffer(left, evidence) ||
                 ClientMayMeanTheLast(chosen, attempt, evidence) ||
                 (evidence.address.ever_held && !explained);
  }
  return wants;
}

}  // namespace

Judgement Eliminate(const Attempt& attempt, const Evidence& evidence, const JudgeContext& context) {
  Judgement out;
  Verdict& verdict = out.verdict;
  if (!evidence.pods_told || evidence.address.before_horizon || evidence.syn_before_horizon) {
    verdict.destination = DestinationClass::kUnknown;
    verdict.unknown_reason = UnknownReason::kBeforeHorizon;
    return out;
  }
  const Candidates candidates = CandidateClusters(attempt, evidence, context.dropped_memory);
  const Possibilities left = PossibilitiesLeft(attempt, evidence, candidates, context);
  const Possibility* likeliest = Likeliest(left, attempt, evidence.address.last);
  const Possibility chosen = likeliest != nullptr ? *likeliest : Unknown(left, evidence);

  verdict.destination = chosen.destination;
  verdict.unknown_reason = chosen.unknown_reason;
  if (chosen.destination != DestinationClass::kUnknown) {
    // However it was, the answer would be the same, and none of the ways is one that we guess.
    const bool certain = OneClass(left) && std::none_of(left.begin(), left.end(), [&](auto& p) {
                           return NeverCertain(p, attempt, evidence, context);
                         });
    verdict.certainty = certain ? Certainty::kCertain : Certainty::kInferred;
  }
  const Explanation explanation =
      ExplainBelief(chosen, attempt, evidence, candidates, context.dropped_memory);
  verdict.cause = explanation.cause;
  verdict.layer = explanation.layer;
  verdict.cluster = explanation.cluster;
  NameHolders(chosen, attempt, evidence, context.typical_delay, verdict);
  out.wants = WhatMoreWouldHelp(left, chosen, attempt, evidence);
  return out;
}

}  // namespace phantomd
