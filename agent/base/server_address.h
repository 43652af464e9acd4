// ServerAddress: where a server listens or is asked, as flags write it: unix:PATH, HOST:PORT or
// [IPV6]:PORT.
//
// One reader for every flag, so that what one takes no other takes differently. Example:
//   "unix:/run/a.sock"   a socket's path of 1 to 107 bytes, the most that the kernel takes
//   "node-1:9478", "10.0.0.7:9478", "[fd00::7]:9478"
//   "::1:9478"           is refused: it may be ::1 with a port or an address alone
//   ":9478"              only where every address of the machine may be meant
//
// Plain values, pure functions: no name is looked up.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace phantomd {

struct HostPort {
  std::string host;  // without brackets; empty: every address of the machine
  uint16_t port = 0;

  std::string ToString() const;  // an IPv6 address in brackets
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

struct ServerAddress {
  std::string unix_path;  // empty: by TCP
  HostPort tcp;

  bool is_unix() const { return !unix_path.empty(); }
  friend bool operator==(const ServerAddress&, const ServerAddress&) = default;
};

// "HOST:PORT", "[IPV6]:PORT", ":PORT"; PORT is 0 to 65535.
absl::StatusOr<HostPort> ParseHostPort(std::string_view text);

// As above with a host, or "unix:PATH".
absl::StatusOr<ServerAddress> ParseServerAddress(std::string_view text);

}  // namespace phantomd
