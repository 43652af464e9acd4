#include "agent/verdict/evidence.h"

#include <algorithm>

#include "agent/verdict/possibilities.h"

namespace phantomd {
namespace {

// The longest a SYN can stay out: with tcp_syn_retries at its default of 6 the kernel gives up 127
// s after it (Linux: 1 + 2 + 4 + ... + 64 s).
constexpr Nanos kLongestSyn = std::chrono::seconds(127);

// One pod that surely holds the address, in service, and that nobody's Service excludes: nothing is
// stale here, so the address's history need not be read.
bool PlainlyLive(const Attempt& attempt, const Evidence& evidence) {
  if (NeverAnswered(attempt)) return false;  // its node may be gone, and it with it
  const AddressFacts& address = evidence.address;
  if (address.holders.size() != 1 || !address.holders[0].sure ||
      address.holders[0].may_be_withdrawn) {
    return false;
  }
  for (const ClusterEvidence& listing : evidence.listings) {
    if (listing.meanings[0] == Meaning::kNotMeant) return false;
  }
  return true;
}

// A cluster tells the layer, and no client can mean another pod by the address: nobody asks what
// else the connection may have gone through.
bool OriginalDstDoesNotMatter(const Attempt& attempt, const Evidence& evidence) {
  return std::any_of(evidence.listings.begin(), evidence.listings.end(),
                     [](const ClusterEvidence& listing) { return listing.held(); }) &&
         !LatelyHeldByAnother(attempt, evidence.address, evidence.address.holders[0].tenancy.pod);
}

// How long an ORIGINAL_DST cluster keeps a host that is not used any more, at least: Envoy's
// cleanup_interval is 5 s, and Istio sets none for the clusters that clients' addresses go through.
// Who goes through one makes a host there, which a poll soon after it still shows.
constexpr Nanos kUnusedHost = std::chrono::seconds(5);

void GatherListings(const BeliefFacts& facts, const Lifecycle& lifecycle, Evidence& evidence) {
  for (const ClusterBelief& belief : facts.clusters) {
    ClusterEvidence& listing = evidence.listings.emplace_back();
    listing.belief = belief;
    // Of an address that some pod has held, nobody asks whose Service it is.
    listing.service_known = !evidence.address.ever_held && !belief.service.empty() &&
                            lifecycle.ServiceKnown(belief.service);
    for (const PossibleHolder& holder : evidence.address.holders) {
      listing.meanings.push_back(belief.service.empty()
                                     ? Meaning::kNoOpinion
                                     : lifecycle.MeaningOf(belief.service, holder.tenancy.pod));
    }
  }
}

void GatherEarlier(const Attempt& attempt, const Lifecycle& lifecycle, Evidence& evidence) {
  for (TenancyFacts& tenancy : lifecycle.Tenancies(attempt.destination.ip)) {
    if (tenancy.acquired.not_before > attempt.started) continue;
    EarlierTenancy earlier;
    earlier.withdrawn = lifecycle.WithdrawnBounds(tenancy.pod);
    for (const ClusterEvidence& listing : evidence.listings) {
      earlier.meant.push_back(!listing.belief.service.empty() &&
                              lifecycle.MeaningOf(listing.belief.service, tenancy.pod) ==
                                  Meaning::kMeant);
    }
    earlier.tenancy = std::move(tenancy);
    evidence.earlier.push_back(std::move(earlier));
  }
}

}  // namespace

bool LatelyHeldByAnother(const Attempt& attempt, const AddressFacts& address, PodHandle holder) {
  const TenancyFacts& last = address.last;
  return last.pod != PodHandle::kNone && last.pod != holder &&
         attempt.started - last.released.not_before <= kAddressMemory;
}

Evidence Gather(const Attempt& attempt, const ProxyId& proxy, const Lifecycle& lifecycle,
                const Belief& belief) {
  Evidence evidence;
  evidence.address = lifecycle.At(attempt.destination.ip, attempt.started);
  evidence.pods_told = lifecycle.feed(Feed::kPods).ever_synced;
  evidence.slices_told = lifecycle.feed(Feed::kSlices).ever_synced;
  evidence.proxy_known = !proxy.empty();
  evidence.syn_before_horizon =
      attempt.adopted && attempt.started - kLongestSyn < lifecycle.horizon();
  evidence.soon_after_horizon = attempt.started - kAddressMemory < lifecycle.horizon();
  if (evidence.proxy_known) {
    const BeliefFacts facts = belief.At(proxy, attempt.destination, attempt.started);
    evidence.belief_usable = facts.usable;
    evidence.answered_after = facts.answered_after;
    evidence.original_dst_unused = facts.told_after <= attempt.started + kUnusedHost;
    GatherListings(facts, lifecycle, evidence);
  }
  const bool plainly_live = PlainlyLive(attempt, evidence);
  if (plainly_live && OriginalDstDoesNotMatter(attempt, evidence)) return evidence;
  evidence.has_original_dst = evidence.proxy_known && belief.HasOriginalDst(proxy);
  if (evidence.has_original_dst) evidence.original_dst_layer = belief.OriginalDstLayer(proxy);
  if (!plainly_live) GatherEarlier(attempt, lifecycle, evidence);
  return evidence;
}

}  // namespace phantomd
