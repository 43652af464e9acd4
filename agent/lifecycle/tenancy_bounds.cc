#include "agent/lifecycle/tenancy_bounds.h"

#include <algorithm>

namespace phantomd {

// The kernel dates the last process. Where that was a crash, its container waited for the next run
// until the deletion was requested: the end came with the request, and before the network went.
TimeBounds TenancyBounds::EndByKernel(const AddressLoss& loss, const PodFacts& facts) const {
  const BootTime ended = loss.bounds.not_after;
  const bool requested = facts.deletion_requested.is_set();
  const bool of_itself =
      facts.terminal_told.is_set() && !(requested && facts.deletion_told <= facts.terminal_told);
  TimeBounds out = loss.bounds;
  if (of_itself) return out;
  if (requested) {
    const TimeBounds request = DeletionBounds(facts, BootTime::Min(), rules_);
    out.not_after = std::max(ended, std::min(request.not_after, loss.told));
    out.not_before = std::min(std::max(ended, request.not_before), out.not_after);
  } else if (facts.finished.is_set()) {
    out.not_after = std::max(ended, loss.told);
  }
  return out;
}

PodEnding TenancyBounds::EndingOf(uint32_t tenancy) const {
  const Tenancy& held = ips_[tenancy];
  const PodRecord& pod = pods_[held.pod];
  PodEnding end = phantomd::EndingOf(pod.facts, pod.failed, DoubtOf(pod), rules_);
  if (!pod.told && !end.suspected()) {
    // Known by slices alone: once it has left their service nobody will tell what became of it.
    const BootTime left = services_.OutOfServiceSince(held.listings);
    if (left.is_set()) end.bounds.not_before = pod_feed_.NewsFloor(left);
  }
  if (held.has_loss) {
    const AddressLoss& loss = ips_.Loss(tenancy);
    if (loss.exact) {
      // The kernel's word dates what the API only circumscribes.
      const BootTime ended = loss.bounds.not_after;
      end.bounds = EndByKernel(loss, pod.facts);
      end.likely =
          end.bounds.not_before == ended ? ended : LikelyBefore(end.bounds, rules_.typical_delay);
    }
    if (!loss.exact && loss.bounds.not_before < end.bounds.not_before) {
      end.bounds.not_before = loss.bounds.not_before;
    }
    if (!loss.exact && loss.bounds.not_after < end.bounds.not_after) {
      end.bounds.not_after = loss.bounds.not_after;
      end.likely = LikelyBefore(loss.bounds, rules_.typical_delay);
    }
    if (loss.exact || end.evidence.empty()) end.evidence = pods_.Text(loss.evidence);
  }
  return end;
}

TimeBounds TenancyBounds::DeletionOf(const PodRecord& pod) const {
  const PodFacts& facts = pod.facts;
  const BootTime told =
      facts.deletion_requested.is_set() ? facts.deletion_told : facts.deleted_told;
  return DeletionBounds(facts, told.is_set() ? pod_feed_.NewsFloor(told) : BootTime(), rules_);
}

BootTime TenancyBounds::EarliestEnd(uint32_t tenancy) const {
  const PodEnding end = EndingOf(tenancy);
  if (end.suspected()) return end.bounds.not_before;
  // Nothing says that it ended, and yet another pod has the address.
  return ProvenAlive(pods_[ips_[tenancy].pod].facts, rules_);
}

ResolvedTenancy TenancyBounds::Resolve(uint32_t tenancy, BootTime taken_over) const {
  const Tenancy& held = ips_[tenancy];
  const PodFacts& facts = pods_[held.pod].facts;
  const PodEnding own = EndingOf(tenancy);
  ResolvedTenancy out;
  out.tenancy = tenancy;
  out.released = own.bounds;
  out.likely_released = own.likely;
  out.evidence = own.evidence;
  if (taken_over < own.bounds.not_after) {
    if (!own.suspected()) out.released.not_before = ProvenAlive(facts, rules_);
    out.released.not_after = taken_over;
    out.released.not_before = std::min(out.released.not_before, taken_over);
    out.likely_released = LikelyBefore(out.released, rules_.typical_delay);
    out.evidence = "another pod holds the address";
  } else if (!own.suspected() && pod_feed_.BlindFrom() != BootTime::Max()) {
    out.released.not_before = pod_feed_.BlindFrom();  // nothing told, but nobody was listening
  }

  out.acquired.not_before = EarliestLife(facts, rules_);
  if (held.older != 0) {
    out.acquired.not_before = std::max(out.acquired.not_before, EarliestEnd(held.older));
  }
  out.acquired.not_after = std::min(held.told, out.released.not_after);
  out.acquired.not_before = std::min(out.acquired.not_before, out.acquired.not_after);
  // A first list tells of what has long been so.
  out.likely_acquired = pod_feed_.CatchingUp(held.told)
                            ? out.acquired.not_before
                            : LikelyBefore(out.acquired, rules_.typical_delay);
  return out;
}

}  // namespace phantomd
