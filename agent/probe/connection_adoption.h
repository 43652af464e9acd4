// ConnectionAdoption makes the kernel adopt the connections of each namespace that begins to be
// watched, and finds out whose each of them is.
//
// An adopted connection that is established is not an attempt: only its end will be told. One whose
// SYN is still unanswered is an attempt, told once with its outcome.
//
// Whose it is. A proxy's process holds a descriptor of it: asked of the kernel, because uid and
// cgroup are the same for Envoy and the pilot-agent that started it. Of an application's connection
// the proxy holds the other side, if it was intercepted: an accepted socket whose peer is the
// application's address and port. What is neither is the application's own. Who is known already,
// because the connection was seen to begin or was named before, stays known.
//
// Which of Envoy's threads connected the kernel has forgotten, but each waits for its sockets in an
// epoll of its own: what the main thread polls is kProxyControl, the rest kProxy. Where that cannot
// be read (the main thread is busy at that moment) it is kProxy, too: a health check may then be
// counted as data. It has no thread ID, and as an adopted attempt its verdict is never CERTAIN.
//
// What fails is tried again after the next scan, until it has worked, or no process leads there any
// more, or the namespace is not watched.
//
// Example: the walk finds 10.0.0.5:40000 -> 10.0.9.9:80 of the application and an accepted socket
// of the proxy's user with the peer 10.0.0.5:40000: intercepted, its end is nobody's.
//
// A namespace in which a proxy has sockets but no process is entered through one of the sockets.
//
// Thread-compatible: the probe's thread. Never reads a clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "agent/probe/end_resolver.h"
#include "agent/probe/initiator.h"
#include "agent/probe/proc_reader.h"
#include "agent/probe/proxy_process.h"
#include "agent/probe/socket_source.h"

namespace phantomd {

class ConnectionAdoption {
 public:
  // All must outlive it.
  ConnectionAdoption(const SocketSource& kernel, const ProcReader& proc,
                     const ProxyProcesses& processes, const InitiatorResolver& openers,
                     EndResolver& ends, uint64_t host_netns_cookie)
      : kernel_(kernel),
        proc_(proc),
        processes_(processes),
        openers_(openers),
        ends_(ends),
        host_netns_cookie_(host_netns_cookie) {}

  // After the namespaces of proxies have been watched: adopts in those that are new.
  void Adopt(BootTime now);
  // After a scan: what has failed is due again, and a namespace or cgroup that is no longer watched
  // is new when it is watched again.
  void AfterScan();

  // While there is something that has failed.
  std::vector<std::string> Limitations() const;

 private:
  using Place = std::pair<uint64_t, uint64_t>;  // namespace; cgroup in the host's own, else 0
  struct Adoption {
    bool over = false;    // adopted, or never will be
    bool waits = false;   // for the next scan
    std::string failure;  // the last one
  };
  struct Owners {
    absl::flat_hash_map<uint64_t, Opener> by_cookie;
    absl::Status status;  // not ok: some are missing
  };

  Place PlaceOf(const ProxyProcess& process) const;
  bool Due(const Place& place);
  void Keep(const Place& place, const absl::Status& adopted);
  absl::Status AdoptIn(uint64_t netns_cookie, const std::string& netns_path, BootTime now);
  absl::Status AdoptElsewhere(const ProxyProcess& process, uint64_t netns_cookie, BootTime now);
  Owners OwnersIn(uint64_t netns_cookie) const;
  void Name(const std::vector<socket_record>& sockets, const Owners& owners, BootTime now);

  const SocketSource& kernel_;
  const ProcReader& proc_;
  const ProxyProcesses& processes_;
  const InitiatorResolver& openers_;
  EndResolver& ends_;
  const uint64_t host_netns_cookie_;
  std::map<Place, Adoption> places_;
};

}  // namespace phantomd
