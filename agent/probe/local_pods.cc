#include "agent/probe/local_pods.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/base/strings.h"
#include "agent/probe/proxy_command.h"

namespace phantomd {
namespace {

// Executables that run a pod's containers where this kernel does not see them: gVisor, and the
// machine monitors of Kata Containers.
bool IsMachine(std::string_view executable) {
  const std::string_view name = FileNameOf(executable);
  return name == "runsc" || name == "firecracker" || name == "cloud-hypervisor" ||
         name == "stratovirt" || name.starts_with("qemu-system-");
}

}  // namespace

std::vector<PodProcess> ReadPodProcesses(const ProcReader& proc, uint64_t host_netns) {
  std::vector<PodProcess> out;
  const auto pids = proc.ProcessIds();
  if (!pids.ok()) return out;
  for (const uint32_t pid : *pids) {
    const auto cgroups = proc.Cgroups(pid);
    if (!cgroups.ok()) continue;
    std::optional<PodCgroup> cgroup = PodCgroupOfProcess(*cgroups);
    if (!cgroup.has_value()) continue;
    const auto start = proc.Start(pid);
    const auto command = proc.Command(pid);
    const auto executable = proc.Executable(pid);
    struct stat netns {};
    if (!start.ok() || !command.ok() || !executable.ok() ||
        stat(proc.PathOf(pid, "ns/net").c_str(), &netns) != 0) {
      continue;
    }
    out.push_back({.process_id = pid,
                   .start = *start,
                   .command = *command,
                   .cgroup = *std::move(cgroup),
                   .netns = netns.st_ino,
                   .on_host = netns.st_ino == host_netns,
                   .machine = IsMachine(*executable)});
  }
  return out;
}

void LocalPods::Consume(BootTime now) {
  TakeRecords();
  if (!std::exchange(looked_, true) || ends_.WantsProcesses(now)) Look(now);
  // What the ring told lies before what the namespaces are asked.
  if (!drained_.is_set() || now - drained_ >= kDrainInterval || ends_.AnyMayEnd()) Drain(now);
}

void LocalPods::TakeRecords() {
  for (const CgroupEvent& event : records_.Take()) {
    const std::optional<PodCgroup> cgroup = PodCgroupOfPath(event.path);
    if (!cgroup.has_value()) continue;
    if (event.cut) {
      ++paths_cut_;
    } else {
      ends_.OnCgroup(*cgroup, event.populated, event.at);
    }
  }
  // Counted before anything later is recorded: so what is missing among the above shows here.
  if (records_.lost() != records_lost_) ends_.OnCgroupsLost();
}

void LocalPods::Look(BootTime now) {
  for (const PodEnds::Found& found : ends_.OnProcesses(ReadPodProcesses(proc_, host_netns_), now)) {
    Bind(found);
  }
}

void LocalPods::Bind(const PodEnds::Found& found) {
  const int netns = open(proc_.PathOf(found.process_id, "ns/net").c_str(), O_RDONLY | O_CLOEXEC);
  if (netns < 0) return;  // it has ended
  struct stat status {};
  // The process may be another one by now.
  if (fstat(netns, &status) == 0 && status.st_ino == found.netns) {
    const std::string path = fmt::format("/proc/self/fd/{}", netns);
    const auto cookie = cookies_.CookieOf(path);
    const auto id = cookie.ok() ? watch_->Watch(path) : absl::StatusOr<uint32_t>(cookie.status());
    if (!absl::IsNotFound(id.status())) unbound_ = FromAbsl(id.status().message());
    // Two pods in one namespace are not told apart.
    if (id.ok() && networks_.try_emplace(*id, Network{.netns_cookie = *cookie}).second) {
      ends_.Bind(found, *id);
      Ask(*id, networks_.at(*id));
    }
  }
  close(netns);
}

void LocalPods::Drain(BootTime now) {
  drained_ = now;
  for (const NamespaceChange& change : watch_->TakeChanges()) {
    const auto known = networks_.find(change.id);
    if (known == networks_.end()) continue;
    if (!change.gone && !Ask(change.id, known->second)) continue;
    ends_.OnNetworkLost(change.id, records_.LinkOf(known->second.netns_cookie));
    records_.ForgetLink(known->second.netns_cookie);
    watch_->Forget(change.id);
    networks_.erase(known);
  }
}

bool LocalPods::Ask(uint32_t id, Network& network) {
  if (network.link != 0) {
    const auto there = watch_->HasLink(id, network.link);
    if (there.ok() ? !*there : absl::IsNotFound(there.status())) return true;
  }
  auto link = watch_->LinkOf(id);
  if (!link.ok()) return false;  // no address, for the moment
  if (network.link == 0) {
    network.link = link->index;
    network.failure = FromAbsl(records_.FollowLink(network.netns_cookie, link->index).message());
  }
  if (network.link == link->index) ends_.OnAddresses(id, std::move(link->ips));
  return false;
}

std::vector<Loss> LocalPods::TakeLosses(BootTime now) {
  std::vector<Loss> out;
  const auto tell = [&](const char* what, uint64_t total, uint64_t& told, bool count_unknown) {
    const uint64_t count = total - std::exchange(told, total);
    if (count == 0) return;
    out.push_back({.what = what,
                   .count = count_unknown ? 0 : count,
                   .from = settled_,
                   .to = now,
                   .count_unknown = count_unknown});
  };
  uint64_t none = 0;
  tell("pod_cgroup", records_.lost(), records_lost_, false);
  tell("pod_network", watch_->overruns(), overruns_, true);
  tell("pod_end", ends_.TakeUntold(), none, false);
  settled_ = now;
  return out;
}

std::vector<std::string> LocalPods::Limitations() const {
  std::vector<std::string> out;
  if (paths_cut_ > 0) {
    out.push_back(fmt::format(
        "{} times the path of a pod's cgroup was longer than {} bytes: the ends of pods there are "
        "known by what the API tells of them only",
        paths_cut_, POD_CGROUP_PATH - 1));
  }
  if (!unbound_.empty()) {
    out.push_back(
        fmt::format("the network namespace of a pod cannot be watched ({}): its end is "
                    "known by what the API tells of it only",
                    unbound_));
  }
  const auto failed = [](const auto& network) { return !network.second.failure.empty(); };
  if (const auto first = std::find_if(networks_.begin(), networks_.end(), failed);
      first != networks_.end()) {
    out.push_back(fmt::format(
        "{} links of pods are not followed ({}): the ends of these pods are "
        "known by what the API tells of them only",
        std::count_if(networks_.begin(), networks_.end(), failed), first->second.failure));
  }
  return out;
}

}  // namespace phantomd
