// Walks the TCP sockets of one network namespace, by which the kernel adopts its connections.
//
// The kernel walks the namespace of the thread that begins: a thread of its own enters it, and the
// calling one stays where it is. About a millisecond each.
//
// Example: WalkSockets(walker, "/proc/7/ns/net") lists what process 7's namespace holds.
//
// Thread-safe; holds nothing.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/connect_event.h"

struct bpf_program;

namespace phantomd {

// `walker`: the loaded program on_tcp_socket. NotFound: the namespace is gone.
absl::StatusOr<std::vector<socket_record>> WalkSockets(const bpf_program* walker,
                                                       const std::string& netns_path);

}  // namespace phantomd
