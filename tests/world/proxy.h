// SimulatedProxy: one Envoy of the simulated world. It holds a host set per cluster, which the
// control plane, DNS or its clients fill, drops hosts as Envoy does, and tells its admin API's
// view.
//
// Every host remembers the pod that it was listed for: truth that no admin API has.
// Thread-compatible.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "agent/belief/snapshot.h"
#include "tests/world/cluster.h"

namespace phantomd::world {

// What is listed for a Service: an address and the pod that it is meant for.
struct Listed {
  SocketAddr address;
  const Pod* pod = nullptr;
};
using Assignment = std::vector<Listed>;

class SimulatedProxy {
 public:
  struct Host {
    const Pod* pod = nullptr;  // whom it was listed for
    bool assigned = true;      // false: held by health checks
    bool failed_check = false;
    int failed_checks = 0;
    uint64_t connects = 0, failures = 0;
    BootTime since;  // in the host set
    BootTime last_used;
  };
  struct ClusterState {
    std::string name;
    const Service* service = nullptr;  // null: it names none
    Discovery discovery = Discovery::kEds;
    Layer layer = Layer::kL4;
    bool health_checked = false;
    bool names_service = true;  // false: a cluster without a Service's name
    std::map<SocketAddr, Host> hosts;
    WallTime updated;
  };
  struct Dropped {
    SocketAddr address;
    const Pod* pod;
    size_t cluster;
    BootTime at;
  };
  // A host of a cluster now stands for another pod, or for none (pod null).
  using HostSink = std::function<void(const SimulatedProxy&, const ClusterState&, const SocketAddr&,
                                      const Pod* before, const Pod* after)>;

  SimulatedProxy(std::string id, Agenda& agenda, Cluster& cluster, Random random, HostSink sink);

  // --- What fills it ---
  size_t AddCluster(ClusterState cluster);
  void Assign(size_t cluster, const Assignment& assignment);
  // ORIGINAL_DST: a client named the address.
  void Use(size_t cluster, const Listed& host);
  void RunTimers(BootTime until);  // health checks and the clean-up of unused hosts

  // --- What it does ---
  Host* FindHost(size_t cluster, const SocketAddr& address);

  // --- What its admin API says ---
  std::vector<BeliefSnapshot::Cluster> View() const;

  const std::string& id() const { return id_; }
  std::vector<ClusterState>& clusters() { return clusters_; }
  const std::vector<ClusterState>& clusters() const { return clusters_; }
  std::vector<Dropped>& dropped() { return dropped_; }
  bool keeps_update_time = false;
  bool alive = true;
  double connect_timeout = 5;
  BootTime applied_until;  // pushes of one proxy arrive in order

 private:
  void Drop(size_t cluster, const SocketAddr& address);
  void CheckHealth(size_t cluster);
  void CleanUp(size_t cluster);
  void Repeat(Nanos period, BootTime until, std::function<void()> action);

  const std::string id_;
  Agenda& agenda_;
  Cluster& cluster_;
  Random random_;
  const HostSink sink_;
  std::vector<ClusterState> clusters_;
  std::vector<Dropped> dropped_;
};

}  // namespace phantomd::world
