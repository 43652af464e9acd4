// Probe: what the agent's own node tells about connections and proxies, as values for the engine.
//
// It joins nine parts: KernelProbe records connects, ProxyDiscovery knows the proxies, ProxyWatch
// makes the kernel watch their namespaces, ConnectionAdoption finds what was there before,
// InitiatorResolver and EndResolver say who opened each connection, RecordAccount what was lost,
// AttemptCheck whether the kernel's counts of each proxy agree, and LocalPods when the node's pods
// ended.
//
// A fresh agent knows nothing of what happened before it: the attempts of proxies that lived then
// are a loss of unknown count, since the start of the oldest of them, or since the agent before it
// was told its last. An agent that follows another one by its pins knows all of it, but for what
// that one had read and not yet kept when it was killed.
//
// Consume() is called on a timer, at least four times a second, or earlier when wake_fd() is
// readable. It hands out, in this order: proxies that are new or changed, attempts in the order of
// their outcomes, ends of connections, losses, ends of pods, proxies that are gone. So an attempt
// never comes before its proxy or after its proxy is gone, except for attempts that still waited
// for the accepting side, and the end of a connection never comes before its attempt.
//
// Thread-compatible: one thread, the core's. Never reads a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/engine/input.h"
#include "agent/probe/attempt_check.h"
#include "agent/probe/connection_adoption.h"
#include "agent/probe/end_resolver.h"
#include "agent/probe/initiator.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/local_pods.h"
#include "agent/probe/proxy_discovery.h"
#include "agent/probe/proxy_watch.h"
#include "agent/probe/record_account.h"

namespace phantomd {

struct ProbeOptions {
  KernelProbeOptions kernel;
  InitiatorOptions initiator;
  DiscoveryOptions discovery;
  Nanos scan_interval = std::chrono::seconds(10);
  // The agent before this one, where it has kept what it was told.
  struct Predecessor {
    BootTime until;      // it was told what happened
    bool ended = false;  // it was told all that it had read
    bool had_proxies = false;
  };
  std::optional<Predecessor> predecessor;
};

using ProbeOutput = std::variant<DiscoveredProxy, Attempt, ConnectionEnd, Loss, PodEnd>;

class Probe {
 public:
  // What had just happened may still have waited for the accepting side and the next round.
  static constexpr Nanos kToldLate =
      InitiatorOptions().accept_wait + std::chrono::milliseconds(250);

  // Loads and attaches at `now`. The host's namespace is looked up where the options do not name
  // it. The first Consume() scans /proc.
  static absl::StatusOr<std::unique_ptr<Probe>> Start(ProbeOptions options, BootTime now);

  void Consume(BootTime now, const std::function<void(ProbeOutput)>& sink);

  // The last Consume(): hands out what still waits for the accepting side, too, and as a loss what
  // cannot be read any more, unless it stays in the kernel for the next agent.
  void Finish(BootTime now, const std::function<void(ProbeOutput)>& sink);

  int wake_fd() const { return kernel_->wake_fd(); }
  // As of the last Consume().
  std::vector<RecordBalance> Balances() const { return account_.Balances(); }
  // What this probe cannot see, one sentence each.
  std::vector<std::string> Limitations() const;

 private:
  Probe(const ProbeOptions& options, std::unique_ptr<KernelProbe> kernel, BootTime now);

  void Resolve(const std::vector<ConnectRecord>& records, BootTime now, bool expire,
               const std::function<void(ProbeOutput)>& sink);
  // What nobody recorded before the programs were attached, or what is not known any more.
  void TellOutage(BootTime now, const std::function<void(ProbeOutput)>& sink);
  void TakeLosses(BootTime now, bool last, const std::function<void(ProbeOutput)>& sink);
  void WatchPods(BootTime now);
  void TakePods(BootTime now, const std::function<void(ProbeOutput)>& sink);

  const ProbeOptions options_;
  std::unique_ptr<KernelProbe> kernel_;
  SystemNamespaceReader namespaces_;
  const ProcReader proc_;
  ProxyDiscovery discovery_;
  ProxyWatch watch_;
  InitiatorResolver resolver_;
  EndResolver ends_;
  ConnectionAdoption adoption_;
  RecordAccount account_;
  BootTime skips_asked_;  // unset: not yet
  AttemptCheck check_;
  std::unique_ptr<LocalPods> pods_;  // null: nothing is known of their ends

  const BootTime started_;
  BootTime last_scan_;                    // unset: none yet
  std::vector<std::string> limitations_;  // found at the start
};

}  // namespace phantomd
