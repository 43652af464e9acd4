// AdminSockets opens the sockets on which one proxy's admin API is reached.
//
// A proxy's admin port listens on the loopback of its own network namespace. A socket belongs for
// ever to the namespace in which it was made, so the calling thread enters the proxy's namespace
// for the one socket() call and comes back; nothing else runs in there. Neither a namespace nor a
// socket is kept open between polls: either would keep a dead pod's namespace alive.
//
// For the admin thread alone: setns() moves the calling thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>

#include "absl/status/statusor.h"

namespace phantomd {

class AdminSockets {
 public:
  virtual ~AdminSockets() = default;
  // As socket(2), close-on-exec; the caller closes it.
  virtual absl::StatusOr<int> Open(int family, int type, int protocol) = 0;
};

// How to reach the proxy with this process ID.
using AdminSocketsOf = std::function<absl::StatusOr<std::unique_ptr<AdminSockets>>(pid_t)>;

// In the process's network namespace (CAP_SYS_ADMIN and CAP_SYS_PTRACE, unless it is our own). The
// process is held by a pidfd, which a reused process ID does not deceive.
absl::StatusOr<std::unique_ptr<AdminSockets>> SocketsOfProcess(pid_t pid);

// In our own, whatever the process.
absl::StatusOr<std::unique_ptr<AdminSockets>> SocketsOfOwnNamespace(pid_t pid);

}  // namespace phantomd
