// Attempt: one outbound TCP connect from SYN to outcome, and ConnectionEnd: what became of an
// established one.
//
// The same fields as the messages of the same name in proto/phantom/v1/recording.proto.
#pragma once

#include <cstdint>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"

namespace phantomd {

// How a TCP connect ended, as the kernel saw it.
enum class Outcome {
  kUnspecified = 0,
  kEstablished = 1,  // handshake completed
  kRefused = 2,      // RST answered the SYN
  kTimedOut = 3,     // the kernel gave up retransmitting the SYN (ETIMEDOUT)
  kAbandoned =
      4,  // the process closed the socket while the SYN was unanswered: Envoy's connect_timeout
  kUnreachable = 5,  // ICMP or ARP failure after the SYN
  kNoRoute = 6,      // connect(2) failed before any SYN
  kLocalError = 7,   // a local resource ran out (EADDRNOTAVAIL, ...)
  kOtherError = 8,   // any other errno
};

// Who opened the connection inside the proxy's network namespace.
enum class Initiator {
  kUnspecified = 0,
  kProxy = 1,  // a worker thread of the proxy: an upstream connection
  kApplication =
      2,  // another process of the pod, not redirected to the proxy: it bypasses the mesh
  kIntercepted = 3,  // another process of the pod, redirected to the proxy: the downstream half
  kProxyControl =
      4,  // Envoy's main thread (health checks, xDS, DNS) or pilot-agent: no caller waits for it
};

struct Attempt {
  ProxyId proxy_id;  // empty: resolve by netns_cookie and process when judging
  uint64_t netns_cookie = 0;
  uint32_t process_id = 0;
  Initiator initiator = Initiator::kUnspecified;
  SocketAddr source;
  SocketAddr destination;
  BootTime started;  // SYN_SENT; for kNoRoute the return of connect(2)
  BootTime ended;    // the outcome
  Outcome outcome = Outcome::kUnspecified;
  int32_t error_number = 0;
  uint32_t icmp_type = 0;  // with kUnreachable, where known
  uint32_t icmp_code = 0;
  uint32_t syn_retransmits = 0;
  uint64_t socket_cookie = 0;  // the same in the later ConnectionEnd
  uint32_t thread_id = 0;      // at the SYN; equal to process_id on Envoy's main thread
  uint64_t cgroup_id = 0;
  BootTime process_start;  // with process_id: pids are reused
  bool adopted =
      false;  // the SYN was already out when the agent began; `started` is then an upper bound

  friend bool operator==(const Attempt&, const Attempt&) = default;
};

// What became of an established connection.
struct ConnectionEnd {
  enum class How {
    kUnspecified = 0,
    kClosed = 1,   // FIN from either side
    kReset = 2,    // RST from the peer
    kAborted = 3,  // RST by this side
    kStalled = 4,  // retransmissions unanswered, first reported at the third
    kExpired = 5,  // the kernel gave the connection up (ETIMEDOUT)
  };
  uint64_t socket_cookie = 0;
  BootTime ended;
  How how = How::kUnspecified;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  ProxyId proxy_id;
  uint64_t netns_cookie = 0;
  uint32_t process_id = 0;
  SocketAddr destination;
  BootTime established;
  bool adopted = false;  // established before the agent began; `established` is then an upper bound
  uint64_t cgroup_id = 0;
  Initiator initiator = Initiator::kUnspecified;
  uint32_t thread_id = 0;

  friend bool operator==(const ConnectionEnd&, const ConnectionEnd&) = default;
};

}  // namespace phantomd
