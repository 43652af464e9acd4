#include "agent/ledger/change_windows.h"

#include <algorithm>
#include <utility>

#include "agent/lifecycle/time_rules.h"

namespace phantomd {
namespace {

DepartedAddress Describe(const IpAddr& ip, PodHandle pod, const Lifecycle& lifecycle) {
  DepartedAddress address{ip, PodHandle::kNone, {BootTime::Max(), BootTime::Max()}};
  for (const TenancyFacts& tenancy : lifecycle.Tenancies(ip)) {  // newest first
    if (tenancy.pod == pod) break;
    address.next = tenancy.pod;
    address.next_acquired = tenancy.acquired;
  }
  return address;
}

// Whether all that the proxy meant by the address when its next owner got it is that owner.
bool MadeRight(const ProxyId& proxy, const DepartedPod& pod, const DepartedAddress& address,
               const Lifecycle& lifecycle, const Belief& belief) {
  const PodRef* before = lifecycle.Pod(pod.pod);
  const PodRef* next = lifecycle.Pod(address.next);
  if (before == nullptr || next == nullptr) return false;
  bool any = false;
  for (const Believer& believer : belief.HistoryOf(address.ip)) {
    if (believer.proxy != proxy || believer.belief.first_seen > address.next_acquired.not_after ||
        believer.belief.gone_by <= address.next_acquired.not_after) {
      continue;
    }
    const Meaning meaning = lifecycle.MeaningOf(believer.belief.service, address.next);
    // Where no Service tells, a pod of the same workload is what was meant.
    const bool right = meaning == Meaning::kNoOpinion ? next->workload == before->workload
                                                      : meaning == Meaning::kMeant;
    if (!right) return false;
    any = true;
  }
  return any;
}

TimeBounds EndOf(const ProxyId& proxy, const DepartedPod& pod, const DepartedAddress& address,
                 const Lifecycle& lifecycle, const Belief& belief) {
  const BootTime from = std::min(pod.left.not_before, pod.left.not_after);
  TimeBounds end = belief.LetGo(proxy, address.ip, from, address.next_acquired.not_before);
  if (end.not_after > address.next_acquired.not_after &&
      MadeRight(proxy, pod, address, lifecycle, belief)) {
    const BootTime by = address.next_acquired.not_after;
    end = {std::min(std::max(from, address.next_acquired.not_before), by), by};
  }
  return end;
}

}  // namespace

BootTime Middle(const TimeBounds& bounds) {
  if (bounds.not_before == BootTime::Min() || !bounds.happened()) return bounds.not_after;
  return bounds.not_before + (bounds.not_after - bounds.not_before) / 2;
}

std::vector<DepartedPod> DepartedPods(const WorkloadChange& change, const Lifecycle& lifecycle,
                                      BootTime now, Nanos typical_delay) {
  std::vector<DepartedPod> pods;
  for (const PodHandle pod : change.pods) {
    DepartedPod departed;
    departed.pod = pod;
    departed.left = lifecycle.WithdrawnBounds(pod);
    departed.released = lifecycle.ReleasedBounds(pod);
    if (!departed.left.happened()) departed.left = departed.released;
    // Not known to be gone, back in service, or forgotten.
    if (!departed.left.happened() || departed.left.not_before > now) continue;
    departed.likely_left = LikelyBefore(departed.left, typical_delay);
    for (const IpAddr& ip : lifecycle.AddressesOf(pod)) {
      departed.addresses.push_back(Describe(ip, pod, lifecycle));
    }
    pods.push_back(std::move(departed));
  }
  return pods;
}

OneWindow WindowOf(const ProxyId& proxy, const std::vector<DepartedPod>& pods,
                   const PodTally& connections, const Lifecycle& lifecycle, const Belief& belief) {
  constexpr TimeBounds kNever = {BootTime::Min(), BootTime::Min()};
  OneWindow window;
  window.figures.proxy = proxy;
  BootTime opened = BootTime::Max();
  BootTime any_left = BootTime::Max();
  TimeBounds closed = kNever;
  for (const DepartedPod& pod : pods) {
    any_left = std::min(any_left, pod.likely_left);
    for (const DepartedAddress& address : pod.addresses) {
      const TimeBounds end = EndOf(proxy, pod, address, lifecycle, belief);
      if (end == kNever) continue;
      window.figures.believed = true;
      opened = std::min(opened, pod.likely_left);
      closed.not_before = std::max(closed.not_before, end.not_before);
      closed.not_after = std::max(closed.not_after, end.not_after);
    }
  }
  const auto connected = connections.proxies.find(proxy);
  if (connected != connections.proxies.end()) {
    window.figures.attempts = connected->second.attempts;
    window.figures.phantoms = connected->second.phantoms;
    window.figures.last_connection = connected->second.last;
  }
  window.exists = window.figures.believed || window.figures.attempts > 0;
  if (!window.exists) return window;
  if (!window.figures.believed) {
    window.figures.opened = std::min(any_left, window.figures.last_connection);
    window.figures.closed = window.figures.last_connection;
    return window;
  }
  window.figures.opened = opened;
  if (!closed.happened()) return window;
  window.figures.closed = std::max(opened, Middle(closed));
  window.figures.closed_error = (closed.not_after - closed.not_before) / 2;
  return window;
}

Nanos LengthOf(const WindowFigures& window, BootTime now) {
  return (window.closed.is_set() ? window.closed : std::max(now, window.opened)) - window.opened;
}

void SortWindows(std::vector<WindowFigures>& windows) {
  std::sort(windows.begin(), windows.end(), [](const WindowFigures& a, const WindowFigures& b) {
    if (a.closed.is_set() != b.closed.is_set()) return !a.closed.is_set();
    const Nanos longer =
        a.closed.is_set() ? (a.closed - a.opened) - (b.closed - b.opened) : b.opened - a.opened;
    return longer != Nanos(0) ? longer > Nanos(0) : a.proxy < b.proxy;
  });
}

}  // namespace phantomd
