#include "agent/probe/network_namespace.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

namespace phantomd {
namespace {

absl::Status Failure(const std::string& what, int error) {
  const std::string text = fmt::format("{}: {}", what, std::strerror(error));
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  return absl::NotFoundError(text);
}

// Of the calling thread's namespace.
absl::StatusOr<uint64_t> OwnCookie() {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return Failure("socket", errno);
  uint64_t cookie = 0;
  socklen_t size = sizeof(cookie);
  const int result = getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &size);
  const int error = errno;
  close(fd);
  if (result != 0) return Failure("SO_NETNS_COOKIE", error);
  return cookie;
}

}  // namespace

absl::StatusOr<uint64_t> SystemNamespaceReader::CookieOf(const std::string& netns_path) {
  const int fd = open(netns_path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Failure(netns_path, errno);
  absl::StatusOr<uint64_t> out = absl::UnknownError("");
  try {
    std::thread([&] {
      out = setns(fd, CLONE_NEWNET) == 0 ? OwnCookie() : Failure(netns_path, errno);
    }).join();
  } catch (const std::system_error& error) {
    out = absl::ResourceExhaustedError(
        fmt::format("{}: no thread to enter it with: {}", netns_path, error.what()));
  }
  close(fd);
  return out;
}

}  // namespace phantomd
