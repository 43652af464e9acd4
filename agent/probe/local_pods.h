// LocalPods tells of the pods of this node when they end: PodEnds, fed by the kernel.
//
// Three things are brought together: when cgroups of pods get their first process and lose their
// last one (PodRecords), which processes a pod has and in which network namespace (/proc), and when
// that namespace or its link goes (NamespaceWatch). Nothing of it depends on a runtime, a cgroup
// driver or an interface plugin.
//
// At rest it costs a look at the ring and one system call in kDrainInterval. /proc is read once at
// the start, after events were lost, and a few times after a pod has begun; the namespaces are
// asked in each round only while a pod may end.
//
// Thread-compatible: the probe's thread. Never reads a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/engine/input.h"
#include "agent/probe/namespace_watch.h"
#include "agent/probe/network_namespace.h"
#include "agent/probe/pod_ends.h"
#include "agent/probe/pod_records.h"
#include "agent/probe/proc_reader.h"

namespace phantomd {

class LocalPods {
 public:
  static constexpr Nanos kDrainInterval = std::chrono::seconds(10);

  // `host_netns`: the inode number of the host's network namespace. All must outlive it.
  LocalPods(PodRecords& records, std::unique_ptr<NamespaceWatch> watch, const ProcReader& proc,
            NamespaceReader& cookies, uint64_t host_netns, BootTime now)
      : records_(records),
        watch_(std::move(watch)),
        proc_(proc),
        cookies_(cookies),
        host_netns_(host_netns),
        settled_(now) {}

  // One round, at least four times a second.
  void Consume(BootTime now);
  std::vector<PodEnd> TakeEnds(BootTime now) { return ends_.TakeEnds(now); }
  std::vector<Loss> TakeLosses(BootTime now);

  // As of the last round.
  std::vector<std::string> Limitations() const;

 private:
  struct Network {
    uint64_t netns_cookie = 0;
    uint32_t link = 0;    // 0: none has an address yet
    std::string failure;  // why the kernel does not look for it
  };

  void TakeRecords();
  void Look(BootTime now);
  void Bind(const PodEnds::Found& found);
  void Drain(BootTime now);
  // True: it is lost.
  bool Ask(uint32_t id, Network& network);

  PodRecords& records_;
  const std::unique_ptr<NamespaceWatch> watch_;
  const ProcReader& proc_;
  NamespaceReader& cookies_;
  const uint64_t host_netns_;

  PodEnds ends_;
  std::map<uint32_t, Network> networks_;  // by number of the watch
  bool looked_ = false;
  BootTime drained_;  // unset: not yet
  BootTime settled_;  // up to when losses were told
  uint64_t records_lost_ = 0;
  uint64_t paths_cut_ = 0;
  uint64_t overruns_ = 0;
  std::string unbound_;  // why the last namespace that could not be watched was not
};

// The pods' processes of a /proc; those that end meanwhile or may not be read are left out.
std::vector<PodProcess> ReadPodProcesses(const ProcReader& proc, uint64_t host_netns);

}  // namespace phantomd
