// TcpListener: a socket that listens on one address, or on all addresses of the machine.
//
// Thread-compatible.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/server_address.h"

namespace phantomd {

class TcpListener {
 public:
  // An empty host is every address of the machine, IPv6 as well as IPv4 where the machine has it.
  // Of a name with several addresses it takes the first that it can have.
  static absl::StatusOr<TcpListener> Listen(const HostPort& where);
  ~TcpListener();
  TcpListener(TcpListener&& other) noexcept;
  TcpListener& operator=(TcpListener&&) = delete;

  int fd() const { return fd_; }      // non-blocking
  int port() const { return port_; }  // the system's choice for port 0

 private:
  explicit TcpListener(int fd);

  int fd_ = -1;
  int port_ = 0;
};

}  // namespace phantomd
