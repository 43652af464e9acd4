// A TCP listener on 127.0.0.1, at a port of the system's choice.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>

#include <cstdint>

#include "agent/base/check.h"

namespace phantomd::testing {

// The caller closes it.
inline int ListenOnLoopback(uint16_t* port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  PHANTOMD_CHECK(bind(fd, reinterpret_cast<sockaddr*>(&bound), sizeof(bound)) == 0);
  PHANTOMD_CHECK(listen(fd, 64) == 0);
  socklen_t size = sizeof(bound);
  PHANTOMD_CHECK(getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) == 0);
  *port = ntohs(bound.sin_port);
  return fd;
}

}  // namespace phantomd::testing
