#include "agent/probe/pod_records.h"

#include <bpf/bpf.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/base/check.h"
#include "agent/probe/kernel_time.h"
#include "agent/probe/map_failure.h"

namespace phantomd {

absl::StatusOr<std::unique_ptr<PodRecords>> PodRecords::Open(int ring_fd, size_t ring_bytes,
                                                             int links_fd, const __u64& lost) {
  std::unique_ptr<PodRecords> out(new PodRecords(links_fd, lost));
  auto ring = RingReader::Open(ring_fd, ring_bytes);
  if (!ring.ok()) return ring.status();
  out->ring_ = *std::move(ring);
  return out;
}

std::vector<CgroupEvent> PodRecords::Take() {
  std::vector<CgroupEvent> out;
  ring_->Take(SIZE_MAX, [&](const void* data, size_t size) {
    cgroup_record record;
    PHANTOMD_CHECK(size >= sizeof(record));
    std::memcpy(&record, data, sizeof(record));
    out.push_back({.at = FromKernel(record.at_ns),
                   .populated = record.populated != 0,
                   .path = std::string(record.path, record.size),
                   .cut = record.size >= POD_CGROUP_PATH - 1});
  });
  ring_->Release();
  return out;
}

uint64_t PodRecords::lost() const {
  return std::atomic_ref(const_cast<__u64&>(lost_)).load(std::memory_order_acquire);
}

absl::Status PodRecords::FollowLink(uint64_t netns_cookie, uint32_t ifindex) {
  const pod_link link{.ifindex = ifindex, .pad = 0, .present_ns = 0, .absent_ns = 0};
  if (bpf_map_update_elem(links_fd_, &netns_cookie, &link, BPF_ANY) != 0) {
    return MapFailure("follow a pod's link", errno);
  }
  return absl::OkStatus();
}

pod_link PodRecords::LinkOf(uint64_t netns_cookie) const {
  pod_link link{};
  if (bpf_map_lookup_elem(links_fd_, &netns_cookie, &link) != 0) return {};
  return link;
}

void PodRecords::ForgetLink(uint64_t netns_cookie) {
  bpf_map_delete_elem(links_fd_, &netns_cookie);
}

}  // namespace phantomd
