#include "agent/probe/network_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sockios.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <thread>

#include "agent/probe/file_failure.h"

namespace phantomd {
namespace {

absl::StatusOr<uint64_t> CookieOfSocket(int fd) {
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size) != 0) {
    return FileFailure("SO_NETNS_COOKIE", errno);
  }
  return cookie;
}

// Of the calling thread's namespace.
absl::StatusOr<uint64_t> OwnCookie() {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return FileFailure("socket", errno);
  absl::StatusOr<uint64_t> cookie = CookieOfSocket(fd);
  close(fd);
  return cookie;
}

}  // namespace

absl::StatusOr<int> OpenNamespaceOfSocket(uint32_t process_id, uint32_t fd, uint64_t netns_cookie) {
  const int process = static_cast<int>(syscall(SYS_pidfd_open, process_id, 0));
  if (process < 0) return FileFailure("pidfd_open", errno);
  const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, process, fd, 0));
  const int copy_error = errno;
  close(process);
  if (copy < 0) return FileFailure("pidfd_getfd", copy_error);
  const absl::StatusOr<uint64_t> cookie = CookieOfSocket(copy);
  const int netns = cookie.ok() && *cookie == netns_cookie ? ioctl(copy, SIOCGSKNS) : -1;
  const int netns_error = errno;
  close(copy);
  if (!cookie.ok()) return cookie.status();
  if (*cookie != netns_cookie) return absl::FailedPreconditionError("another socket's by now");
  if (netns < 0) return FileFailure("SIOCGSKNS", netns_error);
  return netns;
}

absl::StatusOr<uint64_t> SystemNamespaceReader::CookieOf(const std::string& netns_path) {
  const int fd = open(netns_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileFailure(netns_path, errno);
  absl::StatusOr<uint64_t> out = absl::UnknownError("");
  try {
    std::thread([&] {
      out = setns(fd, CLONE_NEWNET) == 0 ? OwnCookie() : FileFailure(netns_path, errno);
    }).join();
  } catch (const std::system_error& error) {
    out = absl::ResourceExhaustedError(
        fmt::format("{}: no thread to enter it with: {}", netns_path, error.what()));
  }
  close(fd);
  return out;
}

}  // namespace phantomd
