#include "agent/probe/tracepoint.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace phantomd {
namespace {

// A directory descriptor of a detached tracefs, or -1 with errno set.
int MountTracefs() {
  const int context = fsopen("tracefs", FSOPEN_CLOEXEC);
  if (context < 0) return -1;
  int mount = -1;
  if (fsconfig(context, FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0) {
    mount = fsmount(context, FSMOUNT_CLOEXEC, 0);
  }
  const int error = errno;
  close(context);
  errno = error;
  return mount;
}

// The number in the file, or 0 with errno set.
uint64_t ReadId(int directory, const std::string& path) {
  const int fd = openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  char text[32];
  const ssize_t size = read(fd, text, sizeof(text));
  close(fd);
  uint64_t id = 0;
  if (size > 0) std::from_chars(text, text + size, id);
  return id;
}

uint64_t FindId(const std::string& event) {
  for (const char* root : {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"}) {
    if (const uint64_t id = ReadId(AT_FDCWD, fmt::format("{}/{}", root, event))) return id;
  }
  const int tracefs = MountTracefs();
  if (tracefs < 0) return 0;
  const uint64_t id = ReadId(tracefs, event);
  const int error = errno;
  close(tracefs);
  errno = error;
  return id;
}

}  // namespace

absl::StatusOr<int> OpenTracepoint(const std::string& category, const std::string& name) {
  const uint64_t id = FindId(fmt::format("events/{}/{}/id", category, name));
  if (id == 0) {
    return absl::NotFoundError(
        fmt::format("tracepoint {}:{}: {}", category, name, std::strerror(errno)));
  }
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.size = sizeof(attributes);
  attributes.config = id;
  // A program attached to the event of one CPU runs on all of them.
  const long fd = syscall(SYS_perf_event_open, &attributes, /*pid=*/-1, /*cpu=*/0, /*group=*/-1,
                          PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) {
    return absl::FailedPreconditionError(
        fmt::format("perf event of tracepoint {}:{}: {}", category, name, std::strerror(errno)));
  }
  return static_cast<int>(fd);
}

}  // namespace phantomd
