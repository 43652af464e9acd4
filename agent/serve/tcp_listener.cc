#include "agent/serve/tcp_listener.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace phantomd {
namespace {

constexpr int kBacklog = 64;

// A listening socket, or -1 and errno.
int ListenOn(const addrinfo& at, bool both_families) {
  const int fd = socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int one = 1;
  // An agent that restarts does not wait for the connections of its predecessor.
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (at.ai_family == AF_INET6) {
    const int only = both_families ? 0 : 1;
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
  }
  if (bind(fd, at.ai_addr, at.ai_addrlen) == 0 && listen(fd, kBacklog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

absl::StatusOr<TcpListener> TcpListener::Listen(const HostPort& where) {
  const bool everywhere = where.host.empty();
  // "::" of both families is also IPv4; a machine without IPv6 has only the other.
  const std::vector<std::string> hosts =
      everywhere ? std::vector<std::string>{"::", "0.0.0.0"} : std::vector<std::string>{where.host};
  std::string why;
  for (const std::string& host : hosts) {
    const addrinfo hints{.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    addrinfo* found = nullptr;
    if (const int failed =
            getaddrinfo(host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
        failed != 0) {
      why = gai_strerror(failed);
      continue;
    }
    int fd = -1, error = 0;
    for (const addrinfo* at = found; at != nullptr && fd < 0; at = at->ai_next) {
      fd = ListenOn(*at, everywhere);
      error = errno;
    }
    freeaddrinfo(found);
    if (fd >= 0) return TcpListener(fd);
    why = std::strerror(error);
    // Somebody has the port: without IPv6 it would not be every address.
    if (error == EADDRINUSE) break;
  }
  return absl::FailedPreconditionError(why);
}

TcpListener::TcpListener(int fd) : fd_(fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
  const in_port_t port = address.ss_family == AF_INET6
                             ? reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port
                             : reinterpret_cast<const sockaddr_in*>(&address)->sin_port;
  port_ = ntohs(port);
}

TcpListener::TcpListener(TcpListener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), port_(other.port_) {}

TcpListener::~TcpListener() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace phantomd
