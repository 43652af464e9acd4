// Probe: what the agent's own node tells about connections and proxies, as values for the engine.
//
// It joins three parts: KernelProbe records connects, ProxyDiscovery knows the proxies and their
// namespaces, InitiatorResolver says who opened each connection. Namespaces of proxies are watched
// while a proxy lives there and a minute longer; in the host's own namespace only the proxies'
// cgroups are.
//
// Consume() is called on a timer, 10 to 20 times a second, or earlier when wake_fd() is readable.
// It hands out, in this order: proxies that are new or changed, attempts in the order of their
// outcomes, losses, proxies that are gone. So an attempt never comes before its proxy or after its
// proxy is gone, except for attempts that still waited for the accepting side.
//
// Thread-compatible: one thread, the core's. Never reads a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/engine/input.h"
#include "agent/probe/initiator.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/proxy_discovery.h"

namespace phantomd {

struct ProbeOptions {
  KernelProbeOptions kernel;
  InitiatorOptions initiator;
  DiscoveryOptions discovery;
  Nanos scan_interval = std::chrono::seconds(10);
};

// What has happened of one kind since the start.
struct ProbeTotal {
  std::string what;      // "attempt", "accept", "process"
  uint64_t records = 0;  // came through
  uint64_t lost = 0;     // happened, but no record of it could be kept

  friend bool operator==(const ProbeTotal&, const ProbeTotal&) = default;
};

using ProbeOutput = std::variant<DiscoveredProxy, Attempt, Loss>;

class Probe {
 public:
  // Loads and attaches at `now`. The host's namespace is looked up where the options do not name
  // it. The first Consume() scans /proc.
  static absl::StatusOr<std::unique_ptr<Probe>> Start(ProbeOptions options, BootTime now);

  void Consume(BootTime now, const std::function<void(ProbeOutput)>& sink);

  // The last Consume(): hands out what still waits for the accepting side, too.
  void Finish(BootTime now, const std::function<void(ProbeOutput)>& sink);

  int wake_fd() const { return kernel_->wake_fd(); }
  std::vector<ProbeTotal> Totals() const;
  // What this probe cannot see, one sentence each.
  std::vector<std::string> Limitations() const;

 private:
  // A namespace, or a cgroup in the host's.
  struct Watched {
    BootTime needed;      // when a proxy was last there
    bool by_us = false;   // else by the exec program alone, or not yet
    std::string failure;  // why it cannot be watched
  };

  Probe(const ProbeOptions& options, std::unique_ptr<KernelProbe> kernel, BootTime now);

  void TakeProcesses();
  void FollowProcesses();
  void WatchProxies(BootTime now);
  void DropWatches(BootTime now);
  void TakeLosses(BootTime now, const std::function<void(ProbeOutput)>& sink);

  const ProbeOptions options_;
  std::unique_ptr<KernelProbe> kernel_;
  SystemNamespaceReader namespaces_;
  ProxyDiscovery discovery_;
  InitiatorResolver resolver_;

  BootTime last_scan_;  // unset: none yet
  BootTime last_totals_at_;
  std::vector<ProbeTotal> last_totals_;
  uint64_t last_skipped_runs_ = 0;
  std::map<uint64_t, Watched> watched_namespaces_;
  std::map<uint64_t, Watched> watched_cgroups_;
  std::vector<std::string> limitations_;         // found at the start
  std::vector<std::string> unfollowed_;          // processes, as of the last scan
  std::vector<std::string> of_unknown_cgroups_;  // processes, as of now
};

}  // namespace phantomd
