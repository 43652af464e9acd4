// What was true at an instant, as far as the index knows now.
#include <algorithm>

#include "agent/lifecycle/lifecycle_impl.h"

namespace phantomd {

TenancyFacts Lifecycle::Impl::FactsOf(const ResolvedTenancy& resolved) const {
  const uint32_t pod = ips[resolved.tenancy].pod;
  return {.pod = pods[pod].handle,
          .ref = LazyPodRef(pods, pod),
          .acquired = resolved.acquired,
          .released = resolved.released,
          .likely_released = resolved.likely_released,
          .likely_acquired = resolved.likely_acquired,
          .evidence = resolved.evidence};
}

ServiceState Lifecycle::Impl::StateOf(const Tenancy& tenancy, BootTime t) const {
  return ServiceStateAt(services, tenancy.listings, slice_feed,
                        bounds.DeletionOf(pods[tenancy.pod]), rules, t);
}

UntoldReason Lifecycle::Impl::WhyUntold(const IpAddr& ip, BootTime t) const {
  if (t < pod_feed.first_sync()) return UntoldReason::kBeforeFirstSync;
  if (pod_feed.BlindAt(t)) return UntoldReason::kFeedBroken;
  if (untold.AnyAt(t, pod_ranges.NodeOf(ip), pods, rules)) {
    return UntoldReason::kAddressUntold;
  }
  return UntoldReason::kNone;
}

AddressFacts Lifecycle::Impl::At(const IpAddr& ip, BootTime t) const {
  AddressFacts facts;
  facts.pods_broken = pod_feed.BlindAt(t);
  facts.slices_broken = slice_feed.BlindAt(t);
  facts.node_address = nodes.IsNodeAddress(ip, t);
  facts.listed_without_pod = services.ListedManually(ip, t);
  facts.in_pod_range = pod_ranges.Contains(ip);
  facts.pod_ranges_known = pod_ranges.known();
  const IpRecord* record = ips.Find(ip);
  if (record != nullptr) {
    facts.ever_held = record->newest != 0;
    facts.other_holder_known = record->several_pods;
    facts.history_complete = record->history_complete;
    facts.listed_with_pod = record->listed_with_pod;
  }
  facts.no_pod_address = !facts.ever_held && facts.pod_ranges_known && !pod_ranges.MayContain(ip);
  if (t < horizon) {
    facts.before_horizon = true;  // forgotten is not dead
    return facts;
  }
  if (record != nullptr) {
    bool taken_over = false;  // by a running pod, at or before t: nobody older can hold it
    bounds.Walk(record->newest, [&](const ResolvedTenancy& resolved) {
      const Tenancy& tenancy = ips[resolved.tenancy];
      if (!taken_over && resolved.MayHoldAt(t)) {
        PossibleHolder& holder = facts.holders.emplace_back();
        holder.tenancy = FactsOf(resolved);
        holder.sure = resolved.SurelyHoldsAt(t);
        if (holder.sure) facts.nobody = false;
        const ServiceState state = StateOf(tenancy, t);
        holder.may_be_in_service = state.may_be_in_service;
        holder.may_be_withdrawn = state.may_be_withdrawn;
        holder.withdrawn = state.withdrawn;
        holder.likely_withdrawn = state.likely_withdrawn;
        holder.end_untold = !resolved.released.happened() &&
                            !pods[tenancy.pod].facts.deleted_told.is_set() &&
                            (state.may_be_withdrawn || resolved.MayHaveEndedBy(t));
      }
      if (facts.last.pod == PodHandle::kNone && resolved.MayHaveEndedBy(t)) {
        facts.last = FactsOf(resolved);
      }
      taken_over |= tenancy.strong && tenancy.told <= t;
      return !taken_over || facts.last.pod == PodHandle::kNone;
    });
  }
  if (facts.nobody) facts.untold = WhyUntold(ip, t);
  return facts;
}

Meaning Lifecycle::Impl::MeaningOf(std::string_view service, PodHandle handle) const {
  const uint32_t service_id = services.FindService(service);
  const uint32_t slot = pods.Find(handle);
  if (service_id == 0 || slot == 0) return Meaning::kNoOpinion;
  for (uint32_t at = pods[slot].tenancies; at != 0; at = ips[at].next_of_pod) {
    if (services.Lists(service_id, ips[at].listings)) return Meaning::kMeant;
  }
  if (!services.HasSlices(service_id) || !slice_feed.synced()) return Meaning::kNoOpinion;
  const uint32_t workload = pods[slot].workload;
  // Listed soon, most likely: its workload serves here.
  if (workload != 0 && served.contains({service_id, workload})) return Meaning::kNoOpinion;
  return Meaning::kNotMeant;
}

ResolvedTenancy Lifecycle::Impl::Resolve(uint32_t tenancy) const {
  ResolvedTenancy found;
  const IpRecord* record = ips.Find(ips[tenancy].ip);
  if (record == nullptr) return found;
  bounds.Walk(record->newest, [&](const ResolvedTenancy& resolved) {
    if (resolved.tenancy != tenancy) return true;
    found = resolved;
    return false;
  });
  return found;
}

// A pod with several addresses is withdrawn, or dead, once the last of them is.
TimeBounds Lifecycle::Impl::WithdrawnBounds(uint32_t slot) const {
  constexpr TimeBounds kNever = {BootTime::Max(), BootTime::Max()};
  const BootTime end = BootTime::FromNanos(BootTime::Max().nanos() - 1);  // after all that is told
  TimeBounds latest = bounds.DeletionOf(pods[slot]);
  bool any = false;
  for (uint32_t at = pods[slot].tenancies; at != 0; at = ips[at].next_of_pod) {
    if (!ips[at].linked) continue;
    const ServiceState state = StateOf(ips[at], end);
    if (!state.may_be_withdrawn || state.may_be_in_service) return kNever;
    latest = any ? TimeBounds{std::max(latest.not_before, state.withdrawn.not_before),
                              std::max(latest.not_after, state.withdrawn.not_after)}
                 : state.withdrawn;
    any = true;
  }
  return latest;
}

TimeBounds Lifecycle::Impl::ReleasedBounds(uint32_t slot) const {
  TimeBounds latest = {BootTime::Max(), BootTime::Max()};
  bool any = false;
  const auto add = [&](const TimeBounds& bounds) {
    latest = any ? TimeBounds{std::max(latest.not_before, bounds.not_before),
                              std::max(latest.not_after, bounds.not_after)}
                 : bounds;
    any = true;
  };
  for (uint32_t at = pods[slot].tenancies; at != 0; at = ips[at].next_of_pod) {
    if (ips[at].linked) add(Resolve(at).released);
  }
  if (!any) {
    const PodRecord& pod = pods[slot];
    add(EndingOf(pod.facts, pod.failed, nodes.DoubtOf(pods.Text(pod.node), pod.facts), rules)
            .bounds);
  }
  return latest;
}

bool Lifecycle::Impl::IsStale(uint32_t newest, BootTime now) const {
  bool stale = false;
  bounds.Walk(newest, [&](const ResolvedTenancy& latest) {
    if (latest.acquired.not_before > now) return true;  // not yet: an instant of the past is asked
    const ServiceState state = StateOf(ips[latest.tenancy], now);
    stale = latest.likely_released <= now || !state.may_be_in_service;
    return false;
  });
  return stale;
}

}  // namespace phantomd
