// How news flows into the parts of the index, and how it is forgotten.
#include <algorithm>
#include <array>
#include <string_view>

#include "agent/base/check.h"
#include "agent/lifecycle/lifecycle_impl.h"

namespace phantomd {
namespace {

// Values of status.reason, and reasons of the condition DisruptionTarget, by which a pod did not
// end of itself nor by its workload's will.
bool IsEviction(std::string_view reason) {
  static constexpr std::array<std::string_view, 10> kReasons = {"Evicted",
                                                                "Preempted",
                                                                "Preempting",
                                                                "NodeLost",
                                                                "NodeShutdown",
                                                                "Terminated",
                                                                "TaintManagerEviction",
                                                                "DeletionByTaintManager",
                                                                "EvictionByEvictionAPI",
                                                                "PreemptionByScheduler"};
  return std::find(kReasons.begin(), kReasons.end(), reason) != kReasons.end();
}

bool IsPodAddress(const IpAddr& ip) { return !ip.is_unset() && !ip.is_loopback(); }

}  // namespace

uint32_t Lifecycle::Impl::FindTenancy(uint32_t pod, const IpAddr& ip) const {
  for (uint32_t at = pods[pod].tenancies; at != 0; at = ips[at].next_of_pod) {
    if (ips[at].ip == ip) return at;
  }
  return 0;
}

uint32_t Lifecycle::Impl::InternTenancy(uint32_t pod, const IpAddr& ip) {
  if (const uint32_t known = FindTenancy(pod, ip); known != 0) return known;
  const uint32_t tenancy = ips.Add(ip, pod);
  // In the order of status.podIPs: the primary address first.
  uint32_t* link = &pods[pod].tenancies;
  while (*link != 0) link = &ips[*link].next_of_pod;
  *link = tenancy;
  return tenancy;
}

void Lifecycle::Impl::LinkTenancy(uint32_t tenancy, BootTime observed) {
  Tenancy& added = ips[tenancy];
  const PodFacts& facts = pods[added.pod].facts;
  ips.Intern(added.ip, observed > pod_feed.first_sync());
  pod_ranges.Saw(added.ip);
  added.told = observed;
  added.strong = !IsLeaving(facts);
  const bool in_list = pod_feed.CatchingUp(observed);
  ips.Link(tenancy, [&](const Tenancy& newer) {
    const PodFacts& other = pods[newer.pod].facts;
    if (added.strong) {
      // Receipts order them, but the order within a list means nothing.
      return in_list && newer.strong && pod_feed.CatchingUp(newer.told) && !IsLeaving(other) &&
             facts.created < other.created;
    }
    // The word of the other may be as old as the gap: then whoever was made later came later.
    if (in_list && newer.told < pod_feed.good_until() && other.created < facts.created)
      return false;
    return !IsLeaving(other) || facts.created < other.created;
  });
  untold.Told(added.pod);
}

// The addresses of a status against those that were told before.
void Lifecycle::Impl::TakeAddresses(uint32_t pod, const PodChange& change, BootTime observed) {
  if (pods[pod].host_network) return;  // podIP is the Node's: not the pod's own
  for (const IpAddr& ip : change.ips) {
    if (!IsPodAddress(ip)) continue;
    const uint32_t tenancy = InternTenancy(pod, ip);
    if (!ips[tenancy].linked) {
      LinkTenancy(tenancy, observed);
      continue;
    }
    // A podIP may vanish from the status for a moment; it comes back as the same tenancy.
    if (ips[tenancy].has_loss && !ips.Loss(tenancy).exact && !change.deleted) {
      ips.ClearLoss(tenancy);
    }
  }
  if (change.deleted || IsTerminal(change.phase)) return;
  for (uint32_t at = pods[pod].tenancies; at != 0; at = ips[at].next_of_pod) {
    const IpAddr& ip = ips[at].ip;
    if (!ips[at].linked) continue;
    if (std::find(change.ips.begin(), change.ips.end(), ip) != change.ips.end()) continue;
    // Another address of the family takes its place when a sandbox is made anew: that loss is sure.
    const bool replaced =
        std::any_of(change.ips.begin(), change.ips.end(),
                    [&](const IpAddr& other) { return other.is_v4() == ip.is_v4(); });
    if (ips[at].has_loss && (!replaced || ips.Loss(at).bounds.happened())) continue;
    AddressLoss loss;
    loss.bounds = {ips[at].has_loss ? ips.Loss(at).bounds.not_before : pod_feed.NewsFloor(observed),
                   replaced ? observed : BootTime::Max()};
    loss.told = observed;
    loss.evidence =
        pods.strings().Acquire(replaced ? "address replaced" : "address gone from status");
    ips.SetLoss(at, loss);
  }
}

void Lifecycle::Impl::TouchAll(uint32_t pod, TouchedAddresses* touched) const {
  for (uint32_t at = pods[pod].tenancies; at != 0; at = ips[at].next_of_pod) {
    touched->push_back(ips[at].ip);
  }
}

TouchedAddresses Lifecycle::Impl::Apply(const PodChange& change, BootTime observed) {
  TouchedAddresses touched;
  departures.Settle(observed);
  pods.Trim();
  pod_feed.Changed(observed);
  uint32_t slot = pods.Find(change.pod.uid);
  if (slot == 0) {
    // A deletion of a pod that was never told, without a word of its addresses, tells nothing.
    if (change.pod.uid.empty() || (change.deleted && change.ips.empty())) return touched;
    slot = pods.Intern(change.pod.uid);
  }
  PodRecord& pod = pods[slot];
  if (pod.facts.deleted_told.is_set() && !change.deleted) {
    // An old list may show what a watch has already told gone. But a pod that a list only lacked,
    // and that is shown again, was never gone.
    if (!pod.facts.deleted_in_gap()) return touched;
    pod.facts.deleted_told = BootTime();
    pod.facts.deletion_hidden_ms = 0;
    --tombstones;
    ++live;
  }
  const bool was_deleted = pod.facts.deleted_told.is_set();
  const bool was_told = pod.told;
  if (!pod.departing && (!change.deleted || !pod.told)) {
    departures.Uncount(slot);
    CountServed(slot, -1);
    pods.Describe(slot, change.pod);
    CountServed(slot, 1);
  }
  pod.told = true;
  pod.host_network |= change.host_network;
  pod.failed |= change.phase == PodPhase::kFailed;
  pod.reason_is_eviction |= IsEviction(change.departure_reason);
  const bool news = Learn(change, observed, pod.facts);
  TakeAddresses(slot, change, observed);
  if (!was_told) ++live;
  if (!was_deleted && pod.facts.deleted_told.is_set()) {
    --live;
    ++tombstones;
  }

  const bool shown = std::any_of(change.ips.begin(), change.ips.end(),
                                 [](const IpAddr& ip) { return IsPodAddress(ip); });
  if (!was_told && !pod.host_network && !shown) untold.Add(slot);
  if (pod.facts.terminal_told.is_set() || pod.facts.deleted_told.is_set()) {
    untold.Gone(slot, observed);
  }
  departures.Update(slot, nodes.LostAt(pods.Text(pod.node), observed), observed);
  // Loss and return of an address change what is known as well; they are rare and not told apart.
  if (news || !was_told || pods[slot].tenancies != 0) TouchAll(slot, &touched);
  return touched;
}

TouchedAddresses Lifecycle::Impl::Apply(const SliceChange& change, BootTime observed) {
  TouchedAddresses touched;
  departures.Settle(observed);
  pods.Trim();
  slice_feed.Changed(observed);
  const auto intern = [&](const PodUid& uid, const IpAddr& ip, std::string_view ns) {
    const uint32_t pod = pods.Intern(uid);
    if (!pods[pod].told) {
      pods.SetNamespace(pod, ns);
      // With all pods watched the pod's own status will say more; otherwise this is all there is.
      if (!options.all_pods) pods[pod].facts.life_told = observed;
      if (!pods[pod].facts.first_told.is_set() && !options.all_pods) {
        pods[pod].facts.first_told = observed;
      }
    }
    const uint32_t tenancy = InternTenancy(pod, ip);
    ips.Intern(ip, observed > pod_feed.first_sync()).listed_with_pod = true;
    pod_ranges.Saw(ip);
    if (!options.all_pods && !pods[pod].told && !ips[tenancy].linked) {
      LinkTenancy(tenancy, observed);
    }
    return tenancy;
  };
  const auto listings = [&](uint32_t tenancy) -> uint32_t& { return ips[tenancy].listings; };
  const auto listed = [&](uint32_t tenancy, uint32_t service) {
    const uint32_t workload = pods[ips[tenancy].pod].workload;
    if (workload != 0) ++served[{service, workload}];
  };
  services.Apply(
      change, observed, {intern, listings, listed},
      [&](uint32_t tenancy) { touched.push_back(ips[tenancy].ip); },
      [&](const IpAddr& ip) { touched.push_back(ip); });
  return touched;
}

TouchedAddresses Lifecycle::Impl::Apply(const NodeChange& change, BootTime observed) {
  TouchedAddresses touched;
  departures.Settle(observed);
  node_feed.Changed(observed);
  const NodeIndex::Touched node = nodes.Apply(change, observed, node_feed, rules);
  touched.assign(node.addresses.begin(), node.addresses.end());
  if (!node.health) return touched;
  // A Node is lost rarely: its pods are sought, not indexed.
  for (uint32_t slot = 1; slot < pods.end(); ++slot) {
    const PodRecord& pod = pods[slot];
    if (pod.handle != PodHandle::kNone && pods.Text(pod.node) == change.name) {
      TouchAll(slot, &touched);
    }
  }
  return touched;
}

TouchedAddresses Lifecycle::Impl::Apply(const PodEnd& end, BootTime observed) {
  TouchedAddresses touched;
  departures.Settle(observed);
  if (end.pod_uid.empty()) return touched;
  const uint32_t slot = pods.Intern(end.pod_uid);
  if (pods[slot].host_network) return touched;  // it holds no address of its own
  // The kernel's word is of a link that the API does not speak of.
  const auto shows_another = [&](const IpAddr& ip) {
    if (FindTenancy(slot, ip) != 0) return false;
    bool out = false;
    for (uint32_t at = pods[slot].tenancies; at != 0; at = ips[at].next_of_pod) {
      out |= ips[at].linked && ips[at].ip.is_v4() == ip.is_v4();
    }
    return out;
  };
  const auto ended = [&](uint32_t tenancy) {
    ips.ClearLoss(tenancy);
    AddressLoss loss;
    loss.bounds = {end.ended, end.ended};
    loss.exact = true;
    loss.told = observed;
    loss.evidence = pods.strings().Acquire(end.evidence.empty() ? "pod end" : end.evidence);
    ips.SetLoss(tenancy, loss);
    touched.push_back(ips[tenancy].ip);
  };
  for (const IpAddr& ip : end.ips) {
    if (!IsPodAddress(ip) || shows_another(ip)) continue;
    const uint32_t tenancy = InternTenancy(slot, ip);
    // The kernel may know the address of a pod that was gone before its status told one.
    if (!ips[tenancy].linked && pods[slot].told) LinkTenancy(tenancy, observed);
    ended(tenancy);
  }
  if (end.ips.empty()) {
    for (uint32_t at = pods[slot].tenancies; at != 0; at = ips[at].next_of_pod) ended(at);
  }
  return touched;
}

void Lifecycle::Impl::Apply(const FeedChange& change, BootTime observed) {
  if (change.feed == Feed::kUnspecified) return;
  departures.Settle(observed);
  FeedLog& log = Log(change.feed);
  log.Apply(change, observed);
  if (change.feed == Feed::kPods) departures.SetSynced(log.synced());
}

void Lifecycle::Impl::RemoveTenancy(uint32_t tenancy) {
  const uint32_t pod = ips[tenancy].pod;
  CountServed(pod, -1);
  uint32_t* link = &pods[pod].tenancies;
  while (*link != tenancy) link = &ips[*link].next_of_pod;
  *link = ips[tenancy].next_of_pod;
  services.Forget(ips[tenancy].listings);
  ips.Remove(tenancy);
  CountServed(pod, 1);
}

void Lifecycle::Impl::Compact(BootTime until) {
  if (until <= horizon) return;
  horizon = until;
  std::vector<uint32_t> forgotten;
  for (const auto& [ip, record] : ips.ips()) {
    bounds.Walk(record.newest, [&](const ResolvedTenancy& resolved) {
      const Tenancy& tenancy = ips[resolved.tenancy];
      const PodFacts& facts = pods[tenancy.pod].facts;
      // A completed pod keeps its address in the API: it is told again by every list.
      const bool gone = facts.deleted_told.is_set() && facts.deleted_told < until;
      const bool ended = resolved.released.not_after < until;
      const bool lost = tenancy.has_loss && ips.Loss(resolved.tenancy).bounds.not_after < until;
      // Nothing will ever bound the end of a force-deleted pod: it is forgotten by its deletion.
      const bool unbounded = !resolved.released.happened();
      if (((gone && (ended || unbounded)) || (lost && ended)) &&
          !services.ListedNow(tenancy.listings)) {
        forgotten.push_back(resolved.tenancy);
      }
      return true;
    });
  }
  for (const uint32_t tenancy : forgotten) RemoveTenancy(tenancy);
  for (uint32_t slot = 1; slot < pods.end(); ++slot) {
    if (pods[slot].handle != PodHandle::kNone && CanForget(slot, until)) ForgetPod(slot);
  }
  untold.Compact(until);
  services.Compact(until);
  nodes.Compact(until);
  pod_feed.Compact(until);
  slice_feed.Compact(until);
  node_feed.Compact(until);
  ips.DropEmpty();
  pod_ranges.Compact(until, [&](absl::FunctionRef<void(const IpAddr&)> saw) {
    for (const auto& [ip, record] : ips.ips()) saw(ip);
  });
}

bool Lifecycle::Impl::CanForget(uint32_t slot, BootTime until) const {
  const PodRecord& pod = pods[slot];
  if (pod.told && !(pod.facts.deleted_told.is_set() && pod.facts.deleted_told < until)) {
    return false;
  }
  for (uint32_t at = pod.tenancies; at != 0; at = ips[at].next_of_pod) {
    const Tenancy& tenancy = ips[at];
    if (tenancy.linked || services.ListedNow(tenancy.listings)) return false;
    // Named by a slice or by the kernel a moment ago: the pod feed may still tell of it.
    if (tenancy.has_loss && ips.Loss(at).told >= until) return false;
    if (services.LastToldOf(tenancy.listings) >= until) return false;
  }
  return true;
}

void Lifecycle::Impl::ForgetPod(uint32_t slot) {
  while (pods[slot].tenancies != 0) RemoveTenancy(pods[slot].tenancies);
  untold.Told(slot);
  departures.Forget(slot);
  if (pods[slot].told) --tombstones;
  pods.Forget(slot);
}

void Lifecycle::Impl::CountServed(uint32_t slot, int by) {
  const PodRecord& pod = pods[slot];
  if (pod.workload == 0) return;
  for (uint32_t at = pod.tenancies; at != 0; at = ips[at].next_of_pod) {
    for (uint32_t listing = ips[at].listings; listing != 0; listing = services[listing].next) {
      const auto it = served.try_emplace({services[listing].service, pod.workload}).first;
      if ((it->second += by) == 0) served.erase(it);
    }
  }
}

}  // namespace phantomd
