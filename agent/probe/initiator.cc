#include "agent/probe/initiator.h"

#include <utility>

#include "agent/probe/outcome.h"

namespace phantomd {

void InitiatorResolver::OnConnect(const connect_record& record, std::vector<Attempt>& out) {
  Attempt attempt = ToAttempt(record);
  if (const std::optional<Opener> opener = OpenerOf(attempt.process_id, attempt.process_start,
                                                    attempt.thread_id, attempt.netns_cookie)) {
    attempt.initiator = opener->initiator;
    attempt.proxy_id = opener->proxy_id;
    out.push_back(std::move(attempt));
    return;
  }
  if (options_.host_netns_cookie != 0 && record.netns_cookie == options_.host_netns_cookie) return;
  attempt.proxy_id = OnlyProxyOf(attempt.netns_cookie);
  attempt.initiator = Initiator::kApplication;
  if (attempt.outcome != Outcome::kEstablished) {
    out.push_back(std::move(attempt));
    return;
  }
  const Handshake handshake{record.netns_cookie, record.client_isn, record.server_isn};
  const BootTime ended = attempt.ended;
  // Two connections with the same numbers at the same time: one in 2^64. The older one is decided.
  if (auto it = waiting_.find(handshake); it != waiting_.end()) {
    out.push_back(std::move(it->second));
    it->second = std::move(attempt);
    return;
  }
  waiting_.emplace(handshake, std::move(attempt));
  by_age_.emplace_back(ended, handshake);
}

void InitiatorResolver::OnAccept(const accept_record& record, std::vector<Attempt>& out) {
  const auto it =
      waiting_.find(Handshake{record.netns_cookie, record.client_isn, record.server_isn});
  // Most accepts are of connections from elsewhere.
  if (it == waiting_.end()) return;
  Attempt attempt = std::move(it->second);
  waiting_.erase(it);
  if (IsProxys(record.netns_cookie, record.uid, record.cgroup_id)) {
    attempt.initiator = Initiator::kIntercepted;
  }
  out.push_back(std::move(attempt));
}

void InitiatorResolver::Expire(BootTime now, std::vector<Attempt>& out) {
  while (!by_age_.empty() &&
         (now == BootTime::Max() || by_age_.front().first + options_.accept_wait <= now)) {
    const auto it = waiting_.find(by_age_.front().second);
    by_age_.pop_front();
    if (it == waiting_.end()) continue;
    out.push_back(std::move(it->second));
    waiting_.erase(it);
  }
}

std::optional<Opener> InitiatorResolver::OpenerOf(uint32_t process_id, BootTime process_start,
                                                  uint32_t thread_id, uint64_t netns_cookie) const {
  const ProxyProcess* process = processes_.Find(process_id, process_start);
  if (process == nullptr) return std::nullopt;
  if (process->kind == ProxyProcess::Kind::kAgent) {
    return Opener{Initiator::kProxyControl, OnlyProxyOf(netns_cookie)};
  }
  const bool control = process->kind == ProxyProcess::Kind::kEnvoy && thread_id == process_id;
  return Opener{control ? Initiator::kProxyControl : Initiator::kProxy, process->proxy_id};
}

bool InitiatorResolver::IsProxys(uint64_t netns_cookie, uint32_t uid, uint64_t cgroup_id) const {
  for (const ProxyProcess* process : processes_.InNamespace(netns_cookie)) {
    const bool same_cgroup = process->cgroup_id == 0 || process->cgroup_id == cgroup_id;
    if (process->uid == uid && same_cgroup) return true;
  }
  return false;
}

// Several proxies in one namespace: the connection is nobody's in particular.
ProxyId InitiatorResolver::OnlyProxyOf(uint64_t netns_cookie) const {
  ProxyId out;
  for (const ProxyProcess* process : processes_.InNamespace(netns_cookie)) {
    if (process->proxy_id.empty() || process->proxy_id == out) continue;
    if (!out.empty()) return ProxyId();
    out = process->proxy_id;
  }
  return out;
}

}  // namespace phantomd
