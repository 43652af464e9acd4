#include "agent/probe/socket_walk.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "agent/probe/bpf_iterator.h"

namespace phantomd {
namespace {

// The iterator's descriptor, or a negative errno.
int BeginIn(int netns, int link) {
  if (setns(netns, CLONE_NEWNET) != 0) return -errno;
  const int fd = bpf_iter_create(link);
  return fd < 0 ? -errno : fd;
}

absl::Status WalkFailure(const std::string& netns_path, int error) {
  const std::string text =
      fmt::format("cannot walk the sockets of {}: {}", netns_path, std::strerror(error));
  if (error == ENOENT || error == ESRCH) return absl::NotFoundError(text);
  return absl::ResourceExhaustedError(text);
}

}  // namespace

absl::StatusOr<std::vector<socket_record>> WalkSockets(const bpf_program* walker,
                                                       const std::string& netns_path) {
  const BpfLink link(bpf_program__attach_iter(walker, nullptr));
  if (link == nullptr) return WalkFailure(netns_path, errno);
  const int netns = open(netns_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (netns < 0) return WalkFailure(netns_path, errno);
  int iterator = -EAGAIN;
  try {
    std::thread([&] { iterator = BeginIn(netns, bpf_link__fd(link.get())); }).join();
  } catch (const std::system_error& error) {
    iterator = -error.code().value();
  }
  close(netns);
  if (iterator < 0) return WalkFailure(netns_path, -iterator);
  std::vector<socket_record> out;
  const int error = ReadIterator<socket_record>(
      iterator, [&](const socket_record& record) { out.push_back(record); });
  if (error != 0) return WalkFailure(netns_path, error);
  return out;
}

}  // namespace phantomd
