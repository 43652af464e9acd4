// The real Envoy that tests run, and a port for it.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/base/loopback.h"

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
// from a bootstrap.
inline uint16_t FreePort() {
  uint16_t port = 0;
  close(ListenOnLoopback(&port));
  return port;
}

}  // namespace phantomd::testing
