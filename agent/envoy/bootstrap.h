// Where a proxy's admin API listens, from its own bootstrap (JSON or YAML, as Envoy takes them).
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/ip_addr.h"

namespace phantomd {

// admin.address.socket_address of a bootstrap; nothing if it configures no admin API. A wildcard
// address becomes the loopback of its family. An admin API on a Unix socket, or on a port that the
// system chooses, is an error: it cannot be polled.
absl::StatusOr<std::optional<SocketAddr>> AdminAddressOf(std::string_view bootstrap);

// A regular file as the process sees it: an absolute path inside its root directory, a relative one
// below its working directory. A symbolic link cannot lead out of either: the process may be
// hostile. At most `max_bytes`.
absl::StatusOr<std::string> ReadFileOfProcess(pid_t pid, const std::string& path, size_t max_bytes);

// Where to look for the admin API of a proxy started with this bootstrap (either may be empty; the
// inline one is laid over the file). If neither can be read, 127.0.0.1 and ::1 at each of
// `usual_ports`. An error: there is no admin API to poll, and why.
absl::StatusOr<std::vector<SocketAddr>> AdminCandidates(pid_t pid, const std::string& path,
                                                        const std::string& inline_text,
                                                        const std::vector<uint16_t>& usual_ports);

}  // namespace phantomd
