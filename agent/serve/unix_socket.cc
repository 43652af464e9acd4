#include "agent/serve/unix_socket.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace phantomd {
namespace {

// Whether somebody listens at `path`; an errno otherwise.
int TryConnect(const sockaddr_un& address) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  const int failed =
      connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? 0 : errno;
  close(fd);
  return failed;
}

}  // namespace

absl::Status ClaimUnixSocket(const std::string& path) {
  sockaddr_un address{.sun_family = AF_UNIX};
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return absl::InvalidArgumentError(fmt::format("unix:{}: a socket's path has 1 to {} bytes",
                                                  path, sizeof(address.sun_path) - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());

  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (!folder.empty()) std::filesystem::create_directories(folder, error);
  if (error) {
    return absl::FailedPreconditionError(
        fmt::format("unix:{}: cannot create the folder: {}", path, error.message()));
  }

  struct stat info;
  if (lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return absl::OkStatus();
    return absl::FailedPreconditionError(fmt::format("unix:{}: {}", path, std::strerror(errno)));
  }
  if (!S_ISSOCK(info.st_mode)) {
    return absl::FailedPreconditionError(fmt::format("unix:{}: exists and is no socket", path));
  }
  const int failed = TryConnect(address);
  // EAGAIN: its queue is full, so somebody listens.
  if (failed == 0 || failed == EAGAIN) {
    return absl::AlreadyExistsError(
        fmt::format("unix:{}: another agent is running and answers there", path));
  }
  if (failed != ECONNREFUSED) {
    return absl::FailedPreconditionError(fmt::format("unix:{}: {}", path, std::strerror(failed)));
  }
  if (unlink(path.c_str()) != 0) {
    return absl::FailedPreconditionError(
        fmt::format("unix:{}: cannot remove the socket that a former agent left: {}", path,
                    std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace phantomd
