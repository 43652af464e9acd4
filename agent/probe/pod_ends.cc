#include "agent/probe/pod_ends.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/probe/kernel_time.h"

namespace phantomd {
namespace {

// Of Kubernetes' own image, and of OpenShift's.
bool IsSandbox(std::string_view command) { return command == "pause" || command == "pod"; }

bool Older(const PodProcess* a, const PodProcess* b) {
  return std::pair(a->start, a->process_id) < std::pair(b->start, b->process_id);
}

}  // namespace

bool PodEnds::Pod::AnyRuns() const {
  return std::any_of(members.begin(), members.end(),
                     [](const auto& m) { return m.second.running; });
}

bool PodEnds::Pod::ContainerRuns() const {
  return std::any_of(members.begin(), members.end(),
                     [](const auto& m) { return m.second.running && !m.second.sandbox; });
}

bool PodEnds::Pod::HasSandbox() const {
  return std::any_of(members.begin(), members.end(),
                     [](const auto& m) { return m.second.running && m.second.sandbox; });
}

BootTime PodEnds::Pod::LastEnd() const {
  BootTime out;
  for (const auto& [name, member] : members) {
    if (!member.sandbox) out = std::max(out, member.ended);
  }
  return out;
}

void PodEnds::Begin(const PodUid& uid, Pod& pod, BootTime at) {
  if (!pod.networks.empty() && !unsettled_.contains(uid)) return;  // known for what it is
  pod.begun = at;
  pod.looks = 0;
  unsettled_.insert(uid);
}

void PodEnds::OnCgroup(const PodCgroup& cgroup, bool populated, BootTime at) {
  if (cgroup.inside) return;
  changed_ = true;
  Pod& pod = pods_[cgroup.pod_uid];
  const auto end = [at](Member& member) {
    if (!std::exchange(member.running, false)) return;  // another hierarchy has told it
    member.ended = at;
  };
  if (!cgroup.member.empty()) {
    Member& member = pod.members[cgroup.member];
    if (populated) {
      member.running = true;
    } else {
      end(member);
    }
  } else if (!populated) {
    for (auto& [name, member] : pod.members) end(member);
  } else if (const auto own = pod.members.find(""); own != pod.members.end()) {
    own->second.running = true;
  }
  if (populated) {
    Begin(cgroup.pod_uid, pod, at);
  } else if (!pod.AnyRuns()) {
    unsettled_.erase(cgroup.pod_uid);
  }
}

bool PodEnds::LookIsDue(const PodUid& uid, BootTime now) const {
  const Pod& pod = pods_.at(uid);
  return now >= pod.begun + kLooks[pod.looks];
}

bool PodEnds::WantsProcesses(BootTime now) const {
  if (looked_.is_set() && now - looked_ < kLookInterval) return false;
  return recount_ || std::any_of(unsettled_.begin(), unsettled_.end(),
                                 [&](const PodUid& uid) { return LookIsDue(uid, now); });
}

std::vector<PodEnds::Found> PodEnds::OnProcesses(const std::vector<PodProcess>& processes,
                                                 BootTime now) {
  looked_ = now;
  changed_ = true;
  std::map<PodUid, std::vector<const PodProcess*>> by_pod;
  std::set<std::pair<PodUid, std::string>> seen;
  for (const PodProcess& process : processes) {
    by_pod[process.cgroup.pod_uid].push_back(&process);
    seen.emplace(process.cgroup.pod_uid, process.cgroup.member);
  }
  for (const PodUid& uid : unsettled_) pods_.at(uid).looks += LookIsDue(uid, now);
  std::vector<Found> out;
  for (auto& [uid, of_pod] : by_pod) {
    const auto [known, added] = pods_.try_emplace(uid);
    Pod& pod = known->second;
    for (const PodProcess* process : of_pod) pod.members[process->cgroup.member].running = true;
    if (added) Begin(uid, pod, now);
    const PodProcess* oldest = *std::min_element(of_pod.begin(), of_pod.end(), Older);
    if (IsSandbox(oldest->command)) pod.members[oldest->cgroup.member].sandbox = true;
    const auto any = [&of_pod = of_pod](bool PodProcess::*what) {
      return std::any_of(of_pod.begin(), of_pod.end(),
                         [what](const PodProcess* process) { return process->*what; });
    };
    if (pod.networks.empty() && !any(&PodProcess::on_host) && !any(&PodProcess::machine)) {
      out.push_back({uid, oldest->process_id, oldest->netns, oldest->start});
    }
  }
  if (std::exchange(recount_, false)) Recount(seen, now);
  for (const PodUid& uid : std::set<PodUid>(unsettled_)) Settle(uid);
  return out;
}

// What /proc shows is what runs. Of what has ended meanwhile nobody knows when.
void PodEnds::Recount(const std::set<std::pair<PodUid, std::string>>& seen, BootTime now) {
  for (auto& [uid, pod] : pods_) {
    for (auto& [name, member] : pod.members) {
      if (!member.running || seen.contains({uid, name})) continue;
      member.running = false;
      if (!member.sandbox) pod.unknown_until = now;
    }
    // One may have ended and begun again, but that one's end is still to come.
    if (!pod.ContainerRuns() && pod.LastEnd().is_set()) {
      pod.unknown_until = std::max(pod.unknown_until, pod.LastEnd());
    }
  }
}

void PodEnds::Settle(const PodUid& uid) {
  const Pod& pod = pods_.at(uid);
  const bool known = !pod.networks.empty() && pod.HasSandbox();
  if (known || pod.looks >= kLooks.size()) unsettled_.erase(uid);
}

void PodEnds::Bind(const Found& found, uint32_t network) {
  const auto pod = pods_.find(found.pod_uid);
  if (pod == pods_.end() || !networks_.try_emplace(network, found.pod_uid).second) return;
  pod->second.networks[network].since = found.start;
  changed_ = true;
  if (unsettled_.contains(found.pod_uid)) Settle(found.pod_uid);
}

void PodEnds::OnAddresses(uint32_t network, std::vector<IpAddr> ips) {
  const auto of = networks_.find(network);
  if (of == networks_.end()) return;
  pods_.at(of->second).networks.at(network).ips = std::move(ips);
  changed_ = true;
}

void PodEnds::OnNetworkLost(uint32_t network, const pod_link& link) {
  const auto of = networks_.find(network);
  if (of == networks_.end()) return;
  const PodUid uid = of->second;
  networks_.erase(of);
  changed_ = true;
  Pod& pod = pods_.at(uid);
  const Network lost = std::move(pod.networks.extract(network).mapped());
  if (pod.networks.empty() && pod.AnyRuns()) {
    // Its sandbox is made anew, and may have another namespace already.
    pod.looks = 0;
    unsettled_.insert(uid);
  }
  const BootTime ended = pod.LastEnd();
  const bool unknown =
      pod.unknown_until.is_set() && (!ended.is_set() || ended <= pod.unknown_until);
  if (recount_ || unknown) {
    ++untold_;
    return;
  }
  if (pod.ContainerRuns() || !ended.is_set() || ended < lost.since || lost.ips.empty()) return;
  const bool there_until_then =
      link.present_ns != 0 && (link.absent_ns == 0 || FromKernel(link.absent_ns) > ended);
  if (!there_until_then) return;
  ends_.push_back({uid, lost.ips, ended, "last process"});
}

// Done once after each change: most rounds have none.
void PodEnds::FindOut() {
  if (!std::exchange(changed_, false)) return;
  std::erase_if(pods_, [&](const auto& pod) {
    return pod.second.networks.empty() && !pod.second.AnyRuns() && !unsettled_.contains(pod.first);
  });
  any_may_end_ = std::any_of(networks_.begin(), networks_.end(), [&](const auto& network) {
    const Pod& pod = pods_.at(network.second);
    return !pod.ContainerRuns() || pod.networks.at(network.first).ips.empty();
  });
}

bool PodEnds::AnyMayEnd() {
  FindOut();
  return any_may_end_;
}

std::vector<PodEnd> PodEnds::TakeEnds(BootTime now) {
  FindOut();
  std::vector<PodEnd> out;
  std::erase_if(ends_, [&](PodEnd& end) {
    if (end.ended > now) return false;
    out.push_back(std::move(end));
    return true;
  });
  return out;
}

uint64_t PodEnds::TakeUntold() { return std::exchange(untold_, 0); }

}  // namespace phantomd
