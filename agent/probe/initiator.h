// InitiatorResolver turns kernel records into attempts: it says who opened each connection, and
// whether an application's connection went to the proxy instead of its destination.
//
//   a worker thread of a known Envoy, or ztunnel                  -> kProxy
//   Envoy's main thread (thread ID = process ID), or pilot-agent  -> kProxyControl
//   anybody else, and the proxy of the same namespace answered    -> kIntercepted
//   anybody else                                                  -> kApplication
//
// How the last two are told apart. The kernel redirects an application's connection by rewriting
// its packets; the application's socket never learns of it and shows the original destination. But
// the two sockets of one handshake know the same two initial sequence numbers, whatever was
// rewritten between them, and where both are in one namespace the connection never left it. The
// answering socket belongs to the proxy when its creator's user and cgroup are the proxy's: a
// connection that a Service's address led back to the pod itself is not intercepted.
//
// Example: application 10.0.0.5:40000 -> 10.0.9.9:80 established with sequence numbers (7, 9); the
// proxy's socket 127.0.0.1:15001 <- 10.0.0.5:40000 completes with (7, 9): kIntercepted.
//
// The connecting side completes first, so an established connection of an application waits for
// the other side's record: microseconds as a rule, and up to the first retransmission of a SYN-ACK
// (1 s) when the proxy's queue was full. An attempt that failed, or a proxy's, never waits.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/probe/proxy_process.h"
#include "agent/verdict/attempt.h"
#include "bpf/connect_event.h"

namespace phantomd {

struct InitiatorOptions {
  Nanos accept_wait = std::chrono::milliseconds(1200);
  // There the applications are other people's: only what proxies open is an attempt. 0: unknown.
  uint64_t host_netns_cookie = 0;
};

struct Opener {
  Initiator initiator = Initiator::kUnspecified;
  ProxyId proxy_id;
};

class InitiatorResolver {
 public:
  // `processes` must outlive the resolver.
  InitiatorResolver(const ProxyProcesses& processes, const InitiatorOptions& options)
      : processes_(processes), options_(options) {}

  // What can be told at once is appended to `out`.
  void OnConnect(const connect_record& record, std::vector<Attempt>& out);
  void OnAccept(const accept_record& record, std::vector<Attempt>& out);
  // Gives out as kApplication what has waited for accept_wait at `now`; everything with
  // BootTime::Max().
  void Expire(BootTime now, std::vector<Attempt>& out);

  // Whether a proxy of that namespace is the creator of a socket with these.
  bool IsProxys(uint64_t netns_cookie, uint32_t uid, uint64_t cgroup_id) const;
  // Empty: none, or several.
  ProxyId OnlyProxyOf(uint64_t netns_cookie) const;
  // What a proxy's process opened; nothing for others. `thread_id` 0: unknown, taken for a
  // worker's.
  std::optional<Opener> OpenerOf(uint32_t process_id, BootTime process_start, uint32_t thread_id,
                                 uint64_t netns_cookie) const;

  size_t waiting() const { return waiting_.size(); }

 private:
  struct Handshake {
    uint64_t netns_cookie = 0;
    uint32_t client_isn = 0;
    uint32_t server_isn = 0;
    friend bool operator==(const Handshake&, const Handshake&) = default;
    template <typename H>
    friend H AbslHashValue(H h, const Handshake& s) {
      return H::combine(std::move(h), s.netns_cookie, s.client_isn, s.server_isn);
    }
  };

  const ProxyProcesses& processes_;
  const InitiatorOptions options_;
  absl::flat_hash_map<Handshake, Attempt> waiting_;
  std::deque<std::pair<BootTime, Handshake>> by_age_;  // by the instant of the outcome, roughly
};

}  // namespace phantomd
