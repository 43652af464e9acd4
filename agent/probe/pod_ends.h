// PodEnds: the rules by which what the kernel tells of cgroups, processes and networks becomes the
// end of a pod of this node.
//
// A pod is dead when none of its containers runs and none will be started again, or when it has
// lost its address, whichever is first. Its end is told, exact to the kernel's stamp, when
//
//   * its network is lost: the namespace is gone, or the link that had its address. A container
//   that
//     crashes, or is checkpointed, leaves the network alone: the next one gets it. Where somebody
//     keeps both (a namespace that is mounted somewhere), nothing is told, and the API decides.
//   * no container of it runs by then. The cgroup of a container is the container: it runs while
//     any process is in it. The sandbox (a process named pause, or pod, the oldest of the pod) is
//     none; where a pod's processes are in its own cgroup, that is the one container.
//   * the link was still there when its last container's last process ended: the kernel looks at
//     each end of a process in the namespace. So the address was not lost first.
//
// It is dated to that last process. What is missing of this (events lost, a network that went while
// containers ran, a pod that ended before anybody saw its namespace) makes it untold, never wrong.
//
// A pod's namespace is that of its sandbox, else of its oldest process. While some of its processes
// are in the host's namespace, it is taken for none: it is being set up, or has the host's network
// for good, and is looked at three times after a container of it begins. A pod whose containers run
// in a machine or kernel of their own is left alone: nobody here sees those end.
//
// Example: pod A, pause in cgroup s, application in c, network 1 with 10.0.0.7.
//   c is empty at 10.00 s   s is empty at 10.02 s   network 1 is lost, told at 10.05 s
//   -> {A, [10.0.0.7], ended 10.00 s, "last process"}
//
// Thread-compatible. Never reads a clock, does no I/O.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/lifecycle/changes.h"
#include "agent/probe/cgroup_path.h"
#include "bpf/connect_event.h"

namespace phantomd {

// A process of a pod, as /proc shows it.
struct PodProcess {
  uint32_t process_id = 0;
  BootTime start;
  std::string command;  // its name, as the kernel keeps it
  PodCgroup cgroup;
  uint64_t netns = 0;    // inode number
  bool on_host = false;  // that is the host's
  bool machine = false;  // it runs containers in a machine or kernel of their own
};

class PodEnds {
 public:
  // How long after a container began its pod is looked at, until its namespace is known.
  static constexpr std::array<Nanos, 3> kLooks = {std::chrono::milliseconds(100),
                                                  std::chrono::seconds(1), std::chrono::seconds(5)};
  static constexpr Nanos kLookInterval = std::chrono::milliseconds(250);

  struct Found {
    PodUid pod_uid;
    uint32_t process_id = 0;  // in the pod's namespace
    uint64_t netns = 0;
    BootTime start;  // of that process
  };

  // In the order in which they happened.
  void OnCgroup(const PodCgroup& cgroup, bool populated, BootTime at);
  // Some of them are not known.
  void OnCgroupsLost() { recount_ = true; }

  bool WantsProcesses(BootTime now) const;
  // All processes of all pods, as they were after all that OnCgroup() was told. What is found are
  // namespaces of pods that have none yet: each is to be bound.
  std::vector<Found> OnProcesses(const std::vector<PodProcess>& processes, BootTime now);
  void Bind(const Found& found, uint32_t network);

  // The addresses on its link, as often as they change.
  void OnAddresses(uint32_t network, std::vector<IpAddr> ips);
  // `link`: what the kernel saw of it.
  void OnNetworkLost(uint32_t network, const pod_link& link);
  // Whether any network may be lost now: none of its containers runs, or it has no address yet.
  bool AnyMayEnd();

  // Those that are not after `now`.
  std::vector<PodEnd> TakeEnds(BootTime now);
  // Ends that were not told because events were lost, since the last call.
  uint64_t TakeUntold();
  size_t pods() const { return pods_.size(); }

 private:
  struct Member {
    bool running = false;
    bool sandbox = false;
    BootTime ended;  // when it was last empty; unset: not yet, or nobody knows
  };
  struct Network {
    BootTime since;
    std::vector<IpAddr> ips;
  };
  struct Pod {
    std::map<std::string, Member> members;
    std::map<uint32_t, Network> networks;
    BootTime begun;  // when a container last began
    size_t looks = 0;
    BootTime unknown_until;  // containers may have ended unseen, the last one at this time

    bool AnyRuns() const;
    bool ContainerRuns() const;
    bool HasSandbox() const;
    BootTime LastEnd() const;
  };

  void Begin(const PodUid& uid, Pod& pod, BootTime at);
  bool LookIsDue(const PodUid& uid, BootTime now) const;
  void Recount(const std::set<std::pair<PodUid, std::string>>& seen, BootTime now);
  void Settle(const PodUid& uid);
  void FindOut();

  std::map<PodUid, Pod> pods_;
  std::map<uint32_t, PodUid> networks_;
  std::set<PodUid> unsettled_;  // to be looked at again
  BootTime looked_;
  bool recount_ = false;
  bool changed_ = false;  // since the next one was found out
  bool any_may_end_ = false;
  uint64_t untold_ = 0;
  std::vector<PodEnd> ends_;
};

}  // namespace phantomd
