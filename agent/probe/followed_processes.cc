#include "agent/probe/followed_processes.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "agent/probe/bpf_iterator.h"
#include "agent/probe/kernel_time.h"
#include "agent/probe/map_failure.h"
#include "agent/probe/proxy_process.h"

namespace phantomd {
absl::Status FollowedProcesses::Follow(uint32_t process_id, BootTime start, uint64_t netns_cookie) {
  followed_process known{};
  if (bpf_map_lookup_elem(map_fd_, &process_id, &known) == 0) {
    if (ProxyProcesses::SameStart(FromKernel(known.start_ns), start)) return absl::OkStatus();
    // An earlier process of this ID. Between these two calls the kernel may have met a later one,
    // whose exec record then makes its reader follow it again.
    bpf_map_delete_elem(map_fd_, &process_id);
  }
  followed_process entry{};
  entry.netns_cookie = netns_cookie;
  entry.start_ns = static_cast<uint64_t>(start.nanos());
  if (bpf_map_update_elem(map_fd_, &process_id, &entry, BPF_NOEXIST) != 0 && errno != EEXIST) {
    return MapFailure("follow a process", errno);
  }
  return absl::OkStatus();
}

void FollowedProcesses::Forget(uint32_t process_id, BootTime start) {
  followed_process known{};
  if (bpf_map_lookup_elem(map_fd_, &process_id, &known) != 0) return;
  if (!ProxyProcesses::SameStart(FromKernel(known.start_ns), start)) return;
  bpf_map_delete_elem(map_fd_, &process_id);
}

std::vector<FollowedProcess> FollowedProcesses::All() const {
  std::vector<FollowedProcess> out;
  uint32_t key = 0;
  for (int error = bpf_map_get_next_key(map_fd_, nullptr, &key); error == 0;) {
    FollowedProcess process;
    process.process_id = key;
    if (bpf_map_lookup_elem(map_fd_, &key, &process.entry) == 0) out.push_back(process);
    error = bpf_map_get_next_key(map_fd_, &key, &key);
  }
  return out;
}

absl::StatusOr<std::vector<socket_place>> FollowedProcesses::SocketsOf(uint32_t process_id) const {
  if (lister_ == nullptr || bpf_program__fd(lister_) < 0) {
    return absl::UnimplementedError("the kernel cannot list the sockets of a process");
  }
  followed_process known{};
  if (bpf_map_lookup_elem(map_fd_, &process_id, &known) != 0) {
    return absl::FailedPreconditionError(
        fmt::format("the kernel does not follow process {}", process_id));
  }
  bpf_iter_link_info one_process{};
  one_process.task.pid = process_id;
  LIBBPF_OPTS(bpf_iter_attach_opts, options);
  options.link_info = &one_process;
  options.link_info_len = sizeof(one_process);
  BpfLink link(bpf_program__attach_iter(lister_, &options));
  if (link == nullptr && errno == ESRCH) return std::vector<socket_place>();  // it has ended
  if (link == nullptr) {
    // Kernels before 6.1 know no such choice.
    link.reset(bpf_program__attach_iter(lister_, nullptr));
  }
  if (link == nullptr) return MapFailure("list the sockets of a process", errno);
  const int fd = bpf_iter_create(bpf_link__fd(link.get()));
  if (fd < 0) return MapFailure("list the sockets of a process", errno);
  std::vector<socket_place> out;
  const int error = ReadIterator<socket_place>(fd, [&](const socket_place& place) {
    if (place.process_id == process_id) out.push_back(place);
  });
  if (error != 0) return MapFailure("list the sockets of a process", error);
  return out;
}

}  // namespace phantomd
