// ControlPlane: how the proxies of the simulated world learn what the slices say: an xDS server
// that debounces, queues and pushes, and a DNS server that is asked again and again.
//
// A push reaches all proxies, each after a delay of its own, and a few hang for many seconds. An
// endpoint that terminates is never sent. Thread-compatible.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/world/proxy.h"

namespace phantomd::world {

class ControlPlane : public Watcher {
 public:
  ControlPlane(const Scenario& scenario, Agenda& agenda, Cluster& cluster, Random random);

  // What the slices list as ready at this moment.
  Assignment ReadyOf(const Service& service) const;
  // What the DNS server answers at this moment: a little behind.
  const Assignment& DnsOf(const Service& service) { return dns_[&service]; }

  // From now on the proxy is pushed to, and its DNS clusters refresh until `end`.
  void Connect(SimulatedProxy& proxy, BootTime end);
  void Disconnect(SimulatedProxy& proxy) { std::erase(proxies_, &proxy); }

  void Stored(const SliceChange& slice) override;

 private:
  void Push();
  void PushTo(SimulatedProxy& proxy, const Service& service,
              std::shared_ptr<const Assignment> assignment, Nanos delay);
  void Refresh(SimulatedProxy& proxy, size_t cluster, BootTime end);

  const Scenario& scenario_;
  Agenda& agenda_;
  Cluster& cluster_;
  Random random_;
  std::vector<SimulatedProxy*> proxies_;
  std::map<const Service*, Assignment> dns_;
  std::set<const Service*> dirty_;
  BootTime first_dirty_, last_dirty_;
};

}  // namespace phantomd::world
