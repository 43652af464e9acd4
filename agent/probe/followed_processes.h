// FollowedProcesses: the processes of proxies that the kernel follows, and what it knows of each.
//
// The exec program adds a process named like a proxy by itself; the others are added here. The
// kernel watches the namespaces in which they make sockets, counts their attempts, and marks the
// entry when the process has ended. The entry stays until Forget(): attempts that the process
// leaves behind are still being counted then.
//
// Identity is process ID and start time, here as in the kernel: an entry is never taken for a later
// process of the same ID.
//
// Thread-compatible. The kernel's map must outlive it.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/probe/kernel_time.h"
#include "bpf/connect_event.h"

struct bpf_program;

namespace phantomd {

struct FollowedProcess {
  uint32_t process_id = 0;
  followed_process entry{};

  BootTime start() const { return FromKernel(entry.start_ns); }
  bool ended() const { return entry.ended_ns != 0; }
};

class FollowedProcesses {
 public:
  // `lister` walks the open files of processes; null or not loaded: Sockets() cannot tell.
  FollowedProcesses(int map_fd, const bpf_program* lister) : map_fd_(map_fd), lister_(lister) {}

  // `start` as /proc tells it. Ok also where the kernel follows this very process already.
  absl::Status Follow(uint32_t process_id, BootTime start, uint64_t netns_cookie);
  void Forget(uint32_t process_id, BootTime start);
  // In no order.
  std::vector<FollowedProcess> All() const;

  // The TCP sockets that one followed process holds now, wherever they were made. Walks its open
  // files alone from kernel 6.1 on, those of every process before. FailedPrecondition: the kernel
  // does not follow it.
  absl::StatusOr<std::vector<socket_place>> SocketsOf(uint32_t process_id) const;

 private:
  int map_fd_;
  const bpf_program* lister_;
};

}  // namespace phantomd
