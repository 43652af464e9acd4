#include "agent/engine/poll_planner.h"

#include <utility>

namespace phantomd {

PollPlanner::PollPlanner(const Belief& belief, StaleTest stale)
    : belief_(belief), stale_(std::move(stale)) {}

void PollPlanner::AddressTouched(const IpAddr& ip) {
  std::set<ProxyId> believers;
  for (const Believer& believer : belief_.BelieversOf(ip)) {
    if (stale_(believer.proxy, believer.address)) believers.insert(believer.proxy);
  }
  const auto it = watched_.find(ip);
  const std::set<ProxyId> before = it == watched_.end() ? std::set<ProxyId>() : it->second;
  for (const ProxyId& proxy : before) {
    if (!believers.contains(proxy)) Unwatch(ip, proxy);
  }
  for (const ProxyId& proxy : believers) {
    if (!before.contains(proxy)) Watch(ip, proxy);
  }
}

void PollPlanner::Applied(const ProxyId& proxy, const std::vector<SocketAddr>& appeared) {
  if (const auto it = watched_of_.find(proxy); it != watched_of_.end()) {
    const std::set<IpAddr> ips = it->second;
    for (const IpAddr& ip : ips) {
      if (!belief_.BelievesNow(proxy, ip)) AddressTouched(ip);
    }
  }
  // It may be stale from the first: a proxy that starts late, or a cluster come back.
  for (const SocketAddr& address : appeared) {
    if (stale_(proxy, address)) Watch(address.ip, proxy);
  }
}

void PollPlanner::Clear() {
  watched_.clear();
  watched_of_.clear();
  demand_.proxies.clear();
}

void PollPlanner::Restore(const WatchedAddresses& watched) {
  for (const IpAddr& ip : watched.ips) Watch(ip, watched.proxy);
}

void PollPlanner::ProxyGone(const ProxyId& proxy) {
  if (const auto it = watched_of_.find(proxy); it != watched_of_.end()) {
    const std::set<IpAddr> ips = it->second;
    for (const IpAddr& ip : ips) Unwatch(ip, proxy);
  }
  demand_.proxies.erase(proxy);
}

void PollPlanner::SetAnswerAfter(const ProxyId& proxy, BootTime after) {
  if (after.is_set()) {
    demand_.proxies[proxy].answer_after = after;
  } else if (const auto it = demand_.proxies.find(proxy); it != demand_.proxies.end()) {
    it->second.answer_after = BootTime();
  }
  Refresh(proxy);
}

void PollPlanner::Watch(const IpAddr& ip, const ProxyId& proxy) {
  watched_[ip].insert(proxy);
  watched_of_[proxy].insert(ip);
  Refresh(proxy);
}

void PollPlanner::Unwatch(const IpAddr& ip, const ProxyId& proxy) {
  if (const auto it = watched_.find(ip); it != watched_.end()) {
    it->second.erase(proxy);
    if (it->second.empty()) watched_.erase(it);
  }
  if (const auto it = watched_of_.find(proxy); it != watched_of_.end()) {
    it->second.erase(ip);
    if (it->second.empty()) watched_of_.erase(it);
  }
  Refresh(proxy);
}

void PollPlanner::Refresh(const ProxyId& proxy) {
  const bool fast = watched_of_.contains(proxy);
  const auto it = demand_.proxies.find(proxy);
  const bool awaited = it != demand_.proxies.end() && it->second.answer_after.is_set();
  if (!fast && !awaited) {
    if (it != demand_.proxies.end()) demand_.proxies.erase(it);
    return;
  }
  demand_.proxies[proxy].fast = fast;
}

}  // namespace phantomd
