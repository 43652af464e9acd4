#include "agent/probe/connection_adoption.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "agent/base/ip_addr.h"
#include "agent/base/strings.h"
#include "agent/probe/network_namespace.h"

namespace phantomd {
namespace {

SocketAddr Local(const socket_record& socket) {
  return {IpAddr::FromBytes(socket.local), socket.local_port};
}

SocketAddr Remote(const socket_record& socket) {
  return {IpAddr::FromBytes(socket.remote), socket.remote_port};
}

}  // namespace

void ConnectionAdoption::Adopt() {
  for (const ProxyProcess* process : processes_.Living()) {
    const bool host = process->netns_cookie == host_netns_cookie_;
    if (process->netns_cookie == 0 || (host && process->cgroup_id == 0)) continue;
    const Place place{process->netns_cookie, host ? process->cgroup_id : 0};
    if (adopted_.insert(place).second) {
      AdoptIn(process->netns_cookie, fmt::format("/proc/{}/ns/net", process->process_id));
    }
    for (const auto& [netns, found] : process->elsewhere) {
      if (netns == host_netns_cookie_) continue;  // what is there is told by cgroup
      if (adopted_.insert(Place{netns, 0}).second) AdoptElsewhere(*process, netns);
    }
  }
}

void ConnectionAdoption::AdoptElsewhere(const ProxyProcess& process, uint64_t netns_cookie) {
  const auto places = kernel_.processes().SocketsOf(process.process_id);
  if (!places.ok()) return;  // it has ended, or an older kernel: ProxyWatch says so
  const socket_place* way_in = nullptr;
  for (const socket_place& place : *places) {
    if (place.netns_cookie != netns_cookie) continue;
    if (way_in == nullptr || place.tcp_state == TCP_LISTEN) way_in = &place;
  }
  if (way_in == nullptr) return;  // it has left
  const auto netns = OpenNamespaceOfSocket(process.process_id, way_in->fd, netns_cookie);
  if (!netns.ok()) {
    if (absl::IsPermissionDenied(netns.status())) failure_ = FromAbsl(netns.status().message());
    return;
  }
  AdoptIn(netns_cookie, fmt::format("/proc/self/fd/{}", *netns));
  close(*netns);
}

void ConnectionAdoption::AdoptIn(uint64_t netns_cookie, const std::string& netns_path) {
  const auto sockets = kernel_.AdoptConnections(netns_path);
  if (!sockets.ok()) {
    // Its process is gone: so is what there was to adopt, or another one will lead there.
    if (!absl::IsNotFound(sockets.status())) failure_ = FromAbsl(sockets.status().message());
    return;
  }
  // The walk has given each socket its cookie, by which its owner is recognised.
  Name(*sockets, OwnersIn(netns_cookie));
}

ConnectionAdoption::Owners ConnectionAdoption::OwnersIn(uint64_t netns_cookie) const {
  Owners out;
  for (const ProxyProcess* process : processes_.InNamespace(netns_cookie)) {
    const auto places = kernel_.processes().SocketsOf(process->process_id);
    if (!places.ok()) continue;  // it has ended, or an older kernel: ProxyWatch says so
    const auto opener =
        openers_.OpenerOf(process->process_id, process->start, /*thread_id=*/0, netns_cookie);
    for (const socket_place& place : *places) {
      if (opener && place.netns_cookie == netns_cookie) out.emplace(place.socket_cookie, *opener);
    }
  }
  return out;
}

void ConnectionAdoption::Name(const std::vector<socket_record>& sockets, const Owners& owners) {
  absl::flat_hash_set<SocketAddr> intercepted;
  for (const socket_record& socket : sockets) {
    if (socket.accepted && openers_.IsProxys(socket.netns_cookie, socket.uid, socket.cgroup_id)) {
      intercepted.insert(Remote(socket));
    }
  }
  for (const socket_record& socket : sockets) {
    if (socket.accepted) continue;
    if (const auto owner = owners.find(socket.socket_cookie); owner != owners.end()) {
      ends_.Remember(socket.socket_cookie, owner->second);
    } else if (socket.state != TCP_SYN_SENT && socket.netns_cookie != host_netns_cookie_ &&
               !intercepted.contains(Local(socket))) {
      // One whose SYN is unanswered is resolved like any other, by its handshake.
      ends_.Remember(socket.socket_cookie,
                     {Initiator::kApplication, openers_.OnlyProxyOf(socket.netns_cookie)});
    }
  }
}

void ConnectionAdoption::ForgetUnwatched() {
  const std::vector<uint64_t> watched = kernel_.Watched();
  std::erase_if(adopted_, [&](const Place& place) {
    return std::find(watched.begin(), watched.end(), place.first) == watched.end();
  });
}

std::vector<std::string> ConnectionAdoption::Limitations() const {
  if (failure_.empty()) return {};
  return {fmt::format("connections that existed before the agent are not followed: {}", failure_)};
}

}  // namespace phantomd
