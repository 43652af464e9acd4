// PollPlanner decides whose admin API is to be polled fast, and who is waited for.
//
// A proxy is polled fast while it believes in an address that it should have let go of: from the
// moment news makes the address stale until the proxy dropped it. When one proxy drops an address,
// all that still believe in it are looked up again, because one push reaches them together.
// Example: A is withdrawn; sidecars s1 and s2 list it: both fast. s1 drops it: s1 slow, s2 still
// fast.
//
// Whether an address is stale for a proxy is asked of the judge: the class that a connection opened
// now would have. Thread-compatible.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "agent/belief/belief.h"
#include "agent/engine/poll_demand.h"
#include "agent/engine/restored.h"

namespace phantomd {

class PollPlanner {
 public:
  using StaleTest = std::function<bool(const ProxyId&, const SocketAddr&)>;
  using Watched = std::map<IpAddr, std::set<ProxyId>>;

  PollPlanner(const Belief& belief, StaleTest stale);

  // News about an address, of pods or slices.
  void AddressTouched(const IpAddr& ip);
  // Call it once the belief knows the snapshot of this proxy. `appeared`: what a cluster lists
  // since. What it went on listing was looked at when news came: fast polls of large clusters cost
  // little.
  void Applied(const ProxyId& proxy, const std::vector<SocketAddr>& appeared);
  void ProxyGone(const ProxyId& proxy);
  // The latest SYN that waits for a poll of this proxy; unset: none does.
  void SetAnswerAfter(const ProxyId& proxy, BootTime after);
  // In place of what was found out: what another planner watched.
  void Clear();
  void Restore(const WatchedAddresses& watched);

  const PollDemand& demand() const { return demand_; }
  // Addresses that are stale, with the proxies that believe in them.
  const Watched& watched() const { return watched_; }
  const std::map<ProxyId, std::set<IpAddr>>& watched_of() const { return watched_of_; }

 private:
  void Watch(const IpAddr& ip, const ProxyId& proxy);
  void Unwatch(const IpAddr& ip, const ProxyId& proxy);
  void Refresh(const ProxyId& proxy);

  const Belief& belief_;
  const StaleTest stale_;
  Watched watched_;
  std::map<ProxyId, std::set<IpAddr>> watched_of_;
  PollDemand demand_;
};

}  // namespace phantomd
