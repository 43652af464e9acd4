// ProxyWatch keeps the kernel looking where the proxies are: at their processes, at their network
// namespaces and, in the host's own, at their cgroups.
//
// A namespace is watched because a proxy lives there, or has a socket there (ztunnel: one process,
// sockets in the namespace of every pod it serves), and a minute longer: the proxy may be
// restarting. The kernel adds namespaces by itself, at an exec under a proxy's name and at the
// first socket of a followed process; what turns out to hold no proxy is dropped again.
//
// Where a followed process has sockets is told by the kernel as they begin to listen or to connect,
// and listed whole every kListInterval: those made before the agent, and those that are closed. A
// listing that fails is tried again after the next scan.
//
// The kernel's maps have bounds. What did not fit is tried again after each scan, and is a sentence
// in Limitations() until it fits.
//
// Thread-compatible: the probe's thread. Never reads a clock.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/proxy_discovery.h"

namespace phantomd {

class ProxyWatch {
 public:
  static constexpr Nanos kListInterval = std::chrono::seconds(30);
  static constexpr Nanos kKeep = ProxyDiscovery::kRemember;

  // All must outlive it.
  ProxyWatch(KernelProbe& kernel, const SocketSource& sockets, ProxyDiscovery& discovery,
             uint64_t host_netns_cookie)
      : kernel_(kernel),
        sockets_(sockets),
        discovery_(discovery),
        host_netns_cookie_(host_netns_cookie) {}

  // Takes what the kernel tells of processes, and hands it out.
  std::vector<process_record> TakeProcesses(BootTime now);
  // After each round and after each scan.
  void Watch(BootTime now);
  // After a scan: follows the processes that it found, lists their sockets, drops what nobody
  // needs.
  void AfterScan(BootTime now);

  std::vector<std::string> Limitations() const;

 private:
  struct Watched {
    BootTime needed;      // when a proxy was last there
    bool by_us = false;   // else by the kernel alone, or not yet
    std::string failure;  // why it cannot be watched
  };
  using Identity = std::pair<uint32_t, BootTime>;  // process ID, start

  void Expect();
  void FollowAll(BootTime now);
  void Follow(uint32_t process_id, BootTime start, uint64_t netns_cookie);
  // False: they cannot be listed now.
  bool ListSockets(const ProxyProcess& process, BootTime now);
  void DropProcesses(BootTime now);
  void DropNamespaces(BootTime now);

  KernelProbe& kernel_;
  const SocketSource& sockets_;
  ProxyDiscovery& discovery_;
  const uint64_t host_netns_cookie_;

  std::map<uint64_t, Watched> namespaces_;
  std::map<uint64_t, Watched> cgroups_;            // in the host's namespace
  std::map<Identity, BootTime> listed_;            // when the sockets of a process were last listed
  std::set<Identity> strangers_;                   // followed, but known to nobody at the last scan
  std::map<Identity, std::string> unfollowed_;     // why
  std::map<std::string, std::string> unexpected_;  // names of proxies' processes, and why
  std::string unlisted_;                           // why sockets cannot be listed
};

}  // namespace phantomd
