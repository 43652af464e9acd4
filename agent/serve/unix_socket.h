// A Unix socket's path belongs to one server at a time.
//
// Thread-compatible.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace phantomd {

// Makes `path` free to listen on: creates its folder (0755) if it is missing and removes a socket
// that nobody answers any more, as a killed agent leaves it. ALREADY_EXISTS when a server answers
// there; FAILED_PRECONDITION when something other than a socket has that name.
absl::Status ClaimUnixSocket(const std::string& path);

}  // namespace phantomd
