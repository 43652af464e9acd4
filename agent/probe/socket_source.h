// SocketSource: what the kernel tells of the sockets that are there already. KernelProbe is one;
// tests of what asks it have their own.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/connect_event.h"

namespace phantomd {

class SocketSource {
 public:
  virtual ~SocketSource() = default;

  // The TCP sockets that one followed process holds now, wherever they were made; none of one that
  // has ended. FailedPrecondition: the kernel does not follow it. Unimplemented: it never tells.
  virtual absl::StatusOr<std::vector<socket_place>> SocketsOf(uint32_t process_id) const = 0;
  // Gives the connecting and established sockets of a namespace, if it is watched, what they would
  // have if it had been watched all along, and lists them with those that were accepted there. What
  // it has given once it does not give again. NotFound: the namespace is gone. Unimplemented: this
  // kernel never does.
  virtual absl::StatusOr<std::vector<socket_record>> AdoptConnections(
      const std::string& netns_path) const = 0;
  // `cgroup_id` 0: the namespace; else that cgroup in it.
  virtual bool Watches(uint64_t netns_cookie, uint64_t cgroup_id) const = 0;
};

}  // namespace phantomd
