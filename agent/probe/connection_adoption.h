// ConnectionAdoption makes the kernel adopt the connections of each namespace that begins to be
// watched, and finds out whose each of them is.
//
// An adopted connection that is established is not an attempt: only its end will be told. One whose
// SYN is still unanswered is an attempt, told once with its outcome.
//
// Whose it is. A proxy's process holds a descriptor of it: asked of the kernel, because uid and
// cgroup are the same for Envoy and the pilot-agent that started it. Which of its threads connected
// nobody knows any more: it counts as a worker's. Of an application's connection the proxy holds
// the other side, if it was intercepted: an accepted socket whose peer is the application's address
// and port. What is neither is the application's own.
//
// Example: the walk finds 10.0.0.5:40000 -> 10.0.9.9:80 of the application and an accepted socket
// of the proxy's user with the peer 10.0.0.5:40000: intercepted, its end is nobody's.
//
// A namespace in which a proxy has sockets but no process is entered through one of the sockets.
//
// Thread-compatible: the probe's thread. Never reads a clock.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/probe/end_resolver.h"
#include "agent/probe/initiator.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/proxy_process.h"

namespace phantomd {

class ConnectionAdoption {
 public:
  // All must outlive it.
  ConnectionAdoption(KernelProbe& kernel, const ProxyProcesses& processes,
                     const InitiatorResolver& openers, EndResolver& ends,
                     uint64_t host_netns_cookie)
      : kernel_(kernel),
        processes_(processes),
        openers_(openers),
        ends_(ends),
        host_netns_cookie_(host_netns_cookie) {}

  // After the namespaces of proxies have been watched: adopts in those that are new.
  void Adopt();
  // A namespace that is no longer watched is new when it is watched again.
  void ForgetUnwatched();

  std::vector<std::string> Limitations() const;

 private:
  using Place = std::pair<uint64_t, uint64_t>;  // namespace; cgroup in the host's own, else 0
  using Owners = absl::flat_hash_map<uint64_t, Opener>;  // by socket cookie

  void AdoptIn(uint64_t netns_cookie, const std::string& netns_path);
  void AdoptElsewhere(const ProxyProcess& process, uint64_t netns_cookie);
  Owners OwnersIn(uint64_t netns_cookie) const;
  void Name(const std::vector<socket_record>& sockets, const Owners& owners);

  KernelProbe& kernel_;
  const ProxyProcesses& processes_;
  const InitiatorResolver& openers_;
  EndResolver& ends_;
  const uint64_t host_netns_cookie_;
  std::set<Place> adopted_;
  std::string failure_;  // the last one
};

}  // namespace phantomd
