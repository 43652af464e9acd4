#include "agent/envoy/admin_sockets.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "agent/base/check.h"

namespace phantomd {
namespace {

constexpr char kOwnNamespace[] = "/proc/thread-self/ns/net";

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

absl::Status Failure(std::string_view what, pid_t pid, int error) {
  const std::string text = fmt::format("{} of process {}: {}", what, pid, std::strerror(error));
  if (error == EPERM || error == EACCES) return absl::PermissionDeniedError(text);
  return absl::NotFoundError(text);
}

absl::StatusOr<int> OpenSocket(int family, int type, int protocol) {
  const int fd = socket(family, type | SOCK_CLOEXEC, protocol);
  if (fd < 0) return absl::UnavailableError(fmt::format("socket: {}", std::strerror(errno)));
  return fd;
}

class OwnNamespaceSockets : public AdminSockets {
 public:
  absl::StatusOr<int> Open(int family, int type, int protocol) override {
    return OpenSocket(family, type, protocol);
  }
};

class ProcessSockets : public AdminSockets {
 public:
  ProcessSockets(pid_t pid, FileDescriptor process) : pid_(pid), process_(std::move(process)) {}

  absl::StatusOr<int> Open(int family, int type, int protocol) override {
    const FileDescriptor own(open(kOwnNamespace, O_RDONLY | O_CLOEXEC));
    if (own.get() < 0) return Failure("cannot open the agent's own network namespace", pid_, errno);
    if (setns(process_.get(), CLONE_NEWNET) != 0) {
      return Failure("cannot enter the network namespace", pid_, errno);
    }
    auto fd = OpenSocket(family, type, protocol);
    // A thread that stayed in there would poll every other proxy in the wrong place.
    PHANTOMD_CHECK(setns(own.get(), CLONE_NEWNET) == 0);
    return fd;
  }

 private:
  const pid_t pid_;
  const FileDescriptor process_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<AdminSockets>> SocketsOfProcess(pid_t pid) {
  FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (process.get() < 0) return Failure("cannot hold on to the proxy", pid, errno);
  struct stat theirs {};
  struct stat ours {};
  if (stat(fmt::format("/proc/{}/ns/net", pid).c_str(), &theirs) != 0) {
    return Failure("cannot see the network namespace", pid, errno);
  }
  if (stat(kOwnNamespace, &ours) != 0) return Failure("cannot see our namespace", pid, errno);
  // No privilege is needed where there is nothing to enter.
  if (theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino) {
    return std::make_unique<OwnNamespaceSockets>();
  }
  return std::make_unique<ProcessSockets>(pid, std::move(process));
}

absl::StatusOr<std::unique_ptr<AdminSockets>> SocketsOfOwnNamespace(pid_t) {
  return std::make_unique<OwnNamespaceSockets>();
}

}  // namespace phantomd
