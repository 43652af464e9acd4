// The real Envoy that tests run, and a port for it.
#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace phantomd::testing {

// Where deploy/install-packages puts the proxy; empty if it is in neither place.
inline std::string EnvoyBinary() {
  namespace fs = std::filesystem;
  const char* build = std::getenv("PHANTOMD_BUILD_DIR");
  const char* source = std::getenv("PHANTOMD_SOURCE_DIR");
  for (const fs::path& folder : {fs::path(build == nullptr ? "." : build),
                                 fs::path(source == nullptr ? "." : source) / "build"}) {
    const fs::path binary = folder / "envoy/envoy/_bin/envoy";
    if (access(binary.c_str(), X_OK) == 0) return fs::absolute(binary);
  }
  return {};
}

// A port that was free a moment ago: Envoy takes no port of the system's choice that we could read
// from a bootstrap. 0: there is none.
inline uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in bound{};
  bound.sin_family = AF_INET;
  bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(bound);
  const bool known = bind(fd, reinterpret_cast<sockaddr*>(&bound), size) == 0 &&
                     getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) == 0;
  close(fd);
  return known ? ntohs(bound.sin_port) : 0;
}

}  // namespace phantomd::testing
