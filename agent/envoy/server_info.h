// DecodeServerInfo reads Envoy's /server_info: who the proxy is.
//
// Pure function over bytes.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"

namespace phantomd {

enum class ServerState { kLive = 0, kDraining = 1, kPreInitializing = 2, kInitializing = 3 };

struct ServerInfo {
  std::string version;  // "1.40.0"; the whole text where it has another form than Envoy's own
  ServerState state = ServerState::kLive;
  std::string node_id;  // empty: the bootstrap names no node
  Nanos uptime{0};      // of the current hot-restart epoch; 1 s grain
};

// An answer without a version is not Envoy's and an error.
absl::StatusOr<ServerInfo> DecodeServerInfo(std::string_view bytes);

}  // namespace phantomd
