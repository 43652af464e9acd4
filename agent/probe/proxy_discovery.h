// ProxyDiscovery finds the proxies of this node: which processes they are, in which network
// namespace and pod.
//
// Two sources. The kernel tells of a process named like a proxy when it begins and when it ends; a
// scan of /proc, when asked for, finds those that ran before, and whatever the kernel could not
// tell. A process is a proxy by its executable's name, also through a symbolic link and when the
// file has been deleted or replaced, or, under another name, by Envoy's threads (EnvoySpotter). A
// script is what runs it; the proxy that it becomes or starts is found at that one's exec. That it
// speaks Envoy's admin protocol is for others to find out.
//
// Several processes may be one proxy: Envoy's hot restart runs two epochs side by side for a while.
// Those of one container with one base ID are one proxy; outside pods, those of one namespace,
// cgroup and base ID. It is described by the newest, whose admin interface has replaced the older
// one's, and gone when the last of them has ended. Processes that do not share a hot restart are
// different proxies, wherever they are.
//
// Example: exec of pid 7 in pod A -> change {A/c1, process_ids [7]}; exec of pid 9 in the same
// container -> change {A/c1, [7, 9]}; exit of 7 -> {A/c1, [9]}; exit of 9 -> {A/c1, gone}.
//
// A process that may not be read, or ended before it could be, never fails anything: the first is
// listed in limitations(), the second is known by what the kernel said of it. Each scan looks again
// at a process that could not be read whole: once it can be, it is the same proxy, better
// described, unless it turns out to be another process of a proxy that is known already. A proxy
// is gone when the kernel says so, or /proc, never because /proc could not be read.
//
// Thread-compatible. Reads /proc, never a clock.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/base/nouns.h"
#include "agent/probe/envoy_spotter.h"
#include "agent/probe/network_namespace.h"
#include "agent/probe/proc_reader.h"
#include "agent/probe/proxy_process.h"
#include "bpf/connect_event.h"

namespace phantomd {

// A proxy and where its configuration can be read; name, admin address and version are not known
// here.
struct DiscoveredProxy {
  Proxy proxy;
  uint32_t process_id = 0;     // the newest of its processes
  std::string bootstrap_path;  // readable from here, through the process's root; empty: none given
  std::string bootstrap_inline;  // of --config-yaml
  bool gone = false;

  friend bool operator==(const DiscoveredProxy&, const DiscoveredProxy&) = default;
};

struct DiscoveryOptions {
  std::string proc_root = "/proc";
  std::string cgroup2_root;  // where cgroup v2 is mounted; empty: looked up
};

class ProxyDiscovery {
 public:
  // How long a process is remembered after its end: its last records are still on their way.
  static constexpr Nanos kRemember = std::chrono::seconds(60);
  // How long a proxy is taken to serve a namespace in which no socket of its was found again.
  static constexpr Nanos kServes = std::chrono::seconds(90);

  // `namespaces` must outlive the discovery.
  ProxyDiscovery(const DiscoveryOptions& options, NamespaceReader& namespaces);

  // False: not a proxy's process, whatever its name.
  bool OnExec(const process_record& record);
  void OnExit(const process_record& record);
  // The process has a socket in that namespace.
  void OnElsewhere(uint32_t process_id, BootTime start, uint64_t netns_cookie, BootTime now);
  void Scan(BootTime now);

  // What has changed since the last call, in order.
  std::vector<DiscoveredProxy> TakeChanges();
  // Process names under which scans have found proxies and the kernel does not expect them.
  std::vector<std::string> TakeNewCommands();
  const ProxyProcesses& processes() const { return processes_; }
  // As of the last scan.
  const std::vector<std::string>& limitations() const { return limitations_; }

 private:
  struct Member {
    ProxyProcess process;
    std::string group;  // which processes are one proxy
    PodUid pod_uid;
    std::string container_id;
    std::string bootstrap_path;
    std::string bootstrap_inline;
    bool serves = true;       // else it only checks its configuration, or prints something
    bool well_known = false;  // its own /proc entries told all of the above

    bool in_container() const { return !pod_uid.empty() && !container_id.empty(); }
  };

  // Looks at a process. NotFound: no proxy, or gone.
  absl::StatusOr<Member> Inspect(uint32_t pid, ProxyProcess::Kind kind) const;
  // What is left to say of a proxy that ended before it could be looked at.
  static Member FromRecord(const process_record& record, ProxyProcess::Kind kind);
  // Whether the process of this ID is still the one that is known.
  bool LivesOn(uint32_t pid) const;
  // Looks again at one that is not well known. Ok: it is now, and has joined as what it is.
  absl::Status Reinspect(const Member& known);
  void Join(Member member);
  ProxyId NewIdFor(const Member& member) const;
  void RenameGroup(const std::string& from, const std::string& to);
  void Leave(uint32_t pid, BootTime at);
  void Announce(const std::string& group);
  uint64_t CgroupIdOf(std::string_view proc_cgroup) const;

  const ProcReader proc_;
  EnvoySpotter spotter_;
  NamespaceReader& namespaces_;
  std::string cgroup2_root_;
  ProxyProcesses processes_;
  std::map<uint32_t, Member> living_;         // by process ID
  std::map<std::string, ProxyId> group_ids_;  // of groups with a living process
  std::map<std::string, DiscoveredProxy> announced_;
  std::vector<DiscoveredProxy> changes_;
  std::vector<std::string> new_commands_;
  std::vector<std::string> limitations_;
};

}  // namespace phantomd
