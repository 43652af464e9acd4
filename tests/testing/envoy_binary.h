// The real Envoy that tests run.
#pragma once

#include <unistd.h>

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
    if (access(binary.c_str(), X_OK) == 0) return binary;
  }
  return {};
}

}  // namespace phantomd::testing
