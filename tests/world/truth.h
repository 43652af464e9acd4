// Truth: what was so in the simulated world, as its parts wrote it down while it happened. Nothing
// here is ever shown to the agent.
//
// Plain values; pods and changes are borrowed from the Cluster and the Deployer.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/verdict/attempt.h"
#include "agent/verdict/verdict.h"
#include "tests/world/proxy.h"

namespace phantomd::world {

struct TrueAttempt {
  DestinationClass destination = DestinationClass::kUnspecified;
  Cause cause = Cause::kUnspecified;
  const Pod* meant = nullptr;   // whom the opener took the address for
  const Pod* holder = nullptr;  // who held it at the SYN
  Attempt attempt;              // as the kernel told it
  bool told = false;            // it had its outcome before the world ended
};

// One proxy's window for one change of a workload.
struct TrueWindow {
  BootTime opened;
  BootTime closed;   // unset: open
  std::string pods;  // who departed, and when each was gone from the proxy
  // False: it has no one instant of its end (clients went on naming the address).
  bool clear = true;
};

// Follows which proxies still list whom. A window ends when the address is gone from the proxy, or
// when a pod that the proxy means by it gets it.
class WindowBook {
 public:
  void Withdrawn(const Pod& pod, BootTime at, const std::vector<const SimulatedProxy*>& proxies);
  void HostChanged(const SimulatedProxy& proxy, const SimulatedProxy::ClusterState& cluster,
                   const SocketAddr& address, const Pod* before, const Pod* after, BootTime at);
  // A pod got an address: who lists it for its Service is right again.
  void Acquired(const Pod& pod, BootTime at);
  // By change and proxy, of the pods that count, once all departures are known.
  std::map<std::pair<std::string, std::string>, TrueWindow> Windows(
      const std::function<bool(const Pod&)>& counts) const;

 private:
  struct OfPod {
    BootTime opened;
    BootTime closed;
    std::map<std::string, const Workload*> clusters;  // that still list it, and whom they mean
    bool clear = true;
  };
  std::map<std::pair<const Pod*, const SimulatedProxy*>, OfPod> open_;
};

}  // namespace phantomd::world
