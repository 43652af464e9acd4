// Truth: what was so in the simulated world, as its parts wrote it down while it happened. Nothing
// here is ever shown to the agent.
//
// Plain values; pods and changes are borrowed from the Cluster and the Deployer.
#pragma once

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
  BootTime closed;  // unset: open
  bool clear =
      true;  // false: it has no one instant of its end (clients went on naming the address)
};

// Follows which proxies still list whom.
class WindowBook {
 public:
  void Withdrawn(const Pod& pod, BootTime at, const std::vector<const SimulatedProxy*>& proxies);
  void HostChanged(const SimulatedProxy& proxy, const SimulatedProxy::ClusterState& cluster,
                   const SocketAddr& address, const Pod* before, const Pod* after, BootTime at);
  // By change and proxy, once all departures are known.
  std::map<std::pair<std::string, std::string>, TrueWindow> Windows() const;

 private:
  struct OfPod {
    BootTime opened;
    BootTime closed;
    std::set<std::string> clusters;  // that still list it
    bool clear = true;
  };
  std::map<std::pair<const Pod*, const SimulatedProxy*>, OfPod> open_;
};

}  // namespace phantomd::world
