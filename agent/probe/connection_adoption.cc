#include "agent/probe/connection_adoption.h"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <set>

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

ConnectionAdoption::Place ConnectionAdoption::PlaceOf(const ProxyProcess& process) const {
  const bool host = process.netns_cookie == host_netns_cookie_;
  return {process.netns_cookie, host ? process.cgroup_id : 0};
}

bool ConnectionAdoption::Due(const Place& place) {
  const Adoption& adoption = places_[place];
  // The walk of a namespace that could not be watched yet finds nothing.
  return !adoption.over && !adoption.waits && kernel_.Watches(place.first, place.second);
}

void ConnectionAdoption::Keep(const Place& place, const absl::Status& adopted) {
  Adoption& adoption = places_[place];
  // What this kernel never does was said when the probe was loaded.
  adoption.over = adopted.ok() || absl::IsUnimplemented(adopted);
  // Its process is gone, or has left: another one may lead there.
  const bool gone = absl::IsNotFound(adopted);
  adoption.waits = !gone;
  adoption.failure = adoption.over || gone ? "" : std::string(adopted.message());
}

void ConnectionAdoption::Adopt(BootTime now) {
  for (const ProxyProcess* process : processes_.Living()) {
    const Place place = PlaceOf(*process);
    if (place.first == 0 || place == Place{host_netns_cookie_, 0}) continue;
    if (Due(place)) {
      Keep(place, AdoptIn(process->netns_cookie, proc_.PathOf(process->process_id, "ns/net"), now));
    }
    for (const auto& [netns, found] : process->elsewhere) {
      if (netns == host_netns_cookie_) continue;  // what is there is told by cgroup
      if (Due({netns, 0})) Keep({netns, 0}, AdoptElsewhere(*process, netns, now));
    }
  }
  for (auto& [place, adoption] : places_) adoption.waits = !adoption.over;
}

absl::Status ConnectionAdoption::AdoptElsewhere(const ProxyProcess& process, uint64_t netns_cookie,
                                                BootTime now) {
  const auto places = kernel_.SocketsOf(process.process_id);
  if (!places.ok()) return places.status();
  const socket_place* way_in = nullptr;
  for (const socket_place& place : *places) {
    if (place.netns_cookie != netns_cookie) continue;
    if (way_in == nullptr || place.tcp_state == TCP_LISTEN) way_in = &place;
  }
  if (way_in == nullptr) return absl::NotFoundError("it has left the namespace");
  const auto netns = OpenNamespaceOfSocket(process.process_id, way_in->fd, netns_cookie);
  if (absl::IsFailedPrecondition(netns.status())) return absl::NotFoundError("it was closed");
  if (!netns.ok()) return netns.status();
  const absl::Status adopted = AdoptIn(netns_cookie, fmt::format("/proc/self/fd/{}", *netns), now);
  close(*netns);
  return adopted;
}

absl::Status ConnectionAdoption::AdoptIn(uint64_t netns_cookie, const std::string& netns_path,
                                         BootTime now) {
  const auto sockets = kernel_.AdoptConnections(netns_path);
  if (!sockets.ok()) return sockets.status();
  // The walk has given each socket its cookie, by which its owner is recognised.
  const Owners owners = OwnersIn(netns_cookie);
  Name(*sockets, owners, now);
  return owners.status;
}

ConnectionAdoption::Owners ConnectionAdoption::OwnersIn(uint64_t netns_cookie) const {
  Owners out;
  for (const ProxyProcess* process : processes_.Living()) {
    if (process->netns_cookie != netns_cookie && !process->elsewhere.contains(netns_cookie)) {
      continue;
    }
    const auto places = kernel_.SocketsOf(process->process_id);
    if (!places.ok()) {
      out.status = places.status();
      continue;
    }
    std::set<uint32_t> polled_by_main;
    if (process->kind == ProxyProcess::Kind::kEnvoy) {
      auto polled = proc_.PolledByMainThread(process->process_id);
      if (polled.ok()) polled_by_main = *std::move(polled);
    }
    for (const socket_place& place : *places) {
      if (place.netns_cookie != netns_cookie) continue;
      const uint32_t thread = polled_by_main.contains(place.fd) ? process->process_id : 0;
      const auto opener =
          openers_.OpenerOf(process->process_id, process->start, thread, netns_cookie);
      if (opener) out.by_cookie.emplace(place.socket_cookie, *opener);
    }
  }
  return out;
}

void ConnectionAdoption::Name(const std::vector<socket_record>& sockets, const Owners& owners,
                              BootTime now) {
  absl::flat_hash_set<SocketAddr> intercepted;
  const auto proxys = [&](const socket_record& socket) {
    return openers_.IsProxys(socket.netns_cookie, socket.uid, socket.cgroup_id);
  };
  for (const socket_record& socket : sockets) {
    if (socket.accepted && proxys(socket)) intercepted.insert(Remote(socket));
  }
  for (const socket_record& socket : sockets) {
    if (socket.accepted) continue;
    const Opener* known = ends_.Remembered(socket.socket_cookie);
    if (known != nullptr && known->initiator != Initiator::kApplication) continue;
    if (const auto owner = owners.by_cookie.find(socket.socket_cookie);
        owner != owners.by_cookie.end()) {
      ends_.Adopted(socket.socket_cookie, owner->second, now);
    } else if (known == nullptr && socket.state != TCP_SYN_SENT &&
               socket.netns_cookie != host_netns_cookie_ && !intercepted.contains(Local(socket)) &&
               (owners.status.ok() || !proxys(socket))) {
      // One whose SYN is unanswered is resolved like any other, by its handshake; one that may be
      // the proxy's, by the next try.
      ends_.Adopted(socket.socket_cookie,
                    {Initiator::kApplication, openers_.OnlyProxyOf(socket.netns_cookie)}, now);
    }
  }
}

void ConnectionAdoption::AfterScan() {
  std::set<Place> led_to;
  for (const ProxyProcess* process : processes_.Living()) {
    led_to.insert(PlaceOf(*process));
    for (const auto& [netns, found] : process->elsewhere) led_to.emplace(netns, 0);
  }
  std::erase_if(places_, [&](const auto& item) {
    const auto& [place, adoption] = item;
    return (!adoption.over && !led_to.contains(place)) ||
           !kernel_.Watches(place.first, place.second);
  });
  for (auto& [place, adoption] : places_) adoption.waits = false;
}

std::vector<std::string> ConnectionAdoption::Limitations() const {
  size_t failed = 0;
  std::string first;
  for (const auto& [place, adoption] : places_) {
    if (adoption.failure.empty()) continue;
    if (++failed == 1) first = adoption.failure;
  }
  if (failed == 0) return {};
  return {fmt::format(
      "connections that existed before the agent are not followed in {} network namespaces: {}",
      failed, first)};
}

}  // namespace phantomd
