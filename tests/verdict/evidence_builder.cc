#include "tests/verdict/evidence_builder.h"

#include <algorithm>

namespace phantomd::testing {
namespace {

TenancyFacts FactsOf(const Tenancy& t) {
  return {.pod = static_cast<PodHandle>(t.pod),
          .acquired = t.acquired.bounds(),
          .released = t.released.bounds(),
          .likely_released = t.released.likely(),
          .likely_acquired = t.acquired.likely()};
}

void AddListing(const Cluster& c, Evidence& out) {
  ClusterEvidence& listing = out.listings.emplace_back();
  listing.service_known = c.service_known && !c.service.empty();
  listing.belief = {.cluster = c.name,
                    .service = c.service,
                    .mesh_cluster = c.mesh_cluster,
                    .discovery = c.discovery,
                    .layer = c.layer,
                    .hold = c.hold,
                    .first_seen = At(c.first_seen),
                    .last_seen = At(c.last_seen),
                    .left_before = At(c.left_before),
                    .gone_by = AtOrNever(c.gone_by),
                    .received_before = c.before,
                    .since_first_poll = c.since_first_poll,
                    .connects_around = c.connects};
  for (const PossibleHolder& holder : out.address.holders) {
    const auto it = c.means.find(static_cast<uint32_t>(holder.tenancy.pod));
    listing.meanings.push_back(it == c.means.end() ? Meaning::kNoOpinion : it->second);
  }
}

}  // namespace

Evidence EvidenceBuilder::Build(BootTime syn) const {
  Evidence out;
  out.address = facts;
  out.pods_told = pods_told;
  out.slices_told = slices_told;
  out.proxy_known = proxy_known;
  out.belief_usable = belief_usable;
  out.soon_after_horizon = soon_after_horizon;
  out.answered_after = answered_after;
  out.has_original_dst = has_original_dst;
  out.original_dst_unused = original_dst_unused;
  out.original_dst_layer = original_dst_layer;
  bool sure = false;
  std::vector<Tenancy> newest_first(tenancies_.rbegin(), tenancies_.rend());
  for (const Tenancy& t : newest_first) {
    const TenancyFacts tenancy = FactsOf(t);
    const bool outer = syn >= tenancy.acquired.not_before && syn <= tenancy.released.not_after;
    const bool inner = syn >= tenancy.acquired.not_after && syn < tenancy.released.not_before;
    if (outer) {
      out.address.holders.push_back({.tenancy = tenancy,
                                     .sure = inner,
                                     .may_be_in_service = syn < AtOrNever(t.withdrawn.to),
                                     .may_be_withdrawn = syn >= At(t.withdrawn.from),
                                     .withdrawn = t.withdrawn.bounds(),
                                     .likely_withdrawn = t.withdrawn.likely(),
                                     .end_untold = t.end_untold});
      sure = sure || inner;
    }
    if (tenancy.acquired.not_before <= syn) {
      EarlierTenancy earlier{.tenancy = tenancy, .withdrawn = t.withdrawn.bounds()};
      for (const Cluster& c : clusters_) {
        const auto it = c.means.find(t.pod);
        earlier.meant.push_back(it != c.means.end() && it->second == Meaning::kMeant);
      }
      out.earlier.push_back(earlier);
    }
    if (out.address.last.pod == PodHandle::kNone && syn >= tenancy.released.not_before) {
      out.address.last = tenancy;
    }
  }
  out.address.nobody = !sure;
  out.address.ever_held = !tenancies_.empty();
  out.address.other_holder_known = tenancies_.size() > 1;
  for (const Cluster& c : clusters_) AddListing(c, out);
  return out;
}

}  // namespace phantomd::testing
