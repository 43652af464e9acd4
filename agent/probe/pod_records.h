// PodRecords: what the BPF programs tell of the node's pods, and which links they look for.
//
// Example: FollowLink(cookie, 2); the pod's last process ends: Take() has {path, populated 0}, and
// LinkOf(cookie).present_ns is that process's end, as the link was still there.
//
// Thread-compatible. The maps must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/probe/ring_reader.h"
#include "bpf/connect_event.h"

namespace phantomd {

struct CgroupEvent {
  BootTime at;
  bool populated = false;
  std::string path;
  bool cut = false;  // it goes on: a record holds no more
};

class PodRecords {
 public:
  // `lost`: the kernel's count of events for which the ring had no room.
  static absl::StatusOr<std::unique_ptr<PodRecords>> Open(int ring_fd, size_t ring_bytes,
                                                          int links_fd, const __u64& lost);

  // In the order in which they happened.
  std::vector<CgroupEvent> Take();
  uint64_t lost() const;

  // ResourceExhausted: there is no room for another one.
  absl::Status FollowLink(uint64_t netns_cookie, uint32_t ifindex);
  // All zero: not followed.
  pod_link LinkOf(uint64_t netns_cookie) const;
  void ForgetLink(uint64_t netns_cookie);

 private:
  PodRecords(int links_fd, const __u64& lost) : links_fd_(links_fd), lost_(lost) {}

  std::unique_ptr<RingReader> ring_;
  const int links_fd_;
  const __u64& lost_;
};

}  // namespace phantomd
