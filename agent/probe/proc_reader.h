// ProcReader reads what /proc tells about other processes.
//
// Any entry may vanish at any moment (NotFound) or be forbidden (PermissionDenied), as root too:
// both are ordinary answers. ResourceExhausted: it could not be read for want of descriptors or
// memory, and says nothing about the process.
//
// Thread-compatible; holds nothing but the path.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"

namespace phantomd {

class ProcReader {
 public:
  explicit ProcReader(std::string root = "/proc") : root_(std::move(root)) {}

  absl::StatusOr<std::vector<uint32_t>> ProcessIds() const;

  // Where the executable lies, as the process sees it, also when the file has been deleted since.
  absl::StatusOr<std::string> Executable(uint32_t pid) const;
  absl::StatusOr<uint64_t> ExecutableSize(uint32_t pid) const;  // in bytes
  // Of at most kThreadNames threads, the oldest first; empty where they cannot be read, or where
  // there is but one.
  static constexpr size_t kThreadNames = 64;
  std::vector<std::string> ThreadNames(uint32_t pid) const;
  absl::StatusOr<std::string> Command(uint32_t pid) const;  // at most 15 bytes; readable by anybody
  absl::StatusOr<std::vector<std::string>> CommandLine(uint32_t pid) const;
  absl::StatusOr<std::string> Cgroups(uint32_t pid) const;  // the whole text
  // Field 22 of stat: the kernel's start time, rounded down to StartGrain().
  absl::StatusOr<BootTime> Start(uint32_t pid) const;
  // The user to whom the sockets belong that the process makes.
  absl::StatusOr<uint32_t> FileSystemUid(uint32_t pid) const;

  // The descriptors in the epoll in which the process's main thread waits. FailedPrecondition: it
  // does not wait in one at this moment.
  absl::StatusOr<std::set<uint32_t>> PolledByMainThread(uint32_t pid) const;

  std::string PathOf(uint32_t pid, std::string_view entry) const;
  // A file that the process names, from here: through its root, or its working directory.
  std::string PathFor(uint32_t pid, const std::string& file) const;
  // What a regular file holds that is nothing but a number.
  static absl::StatusOr<uint32_t> NumberIn(const std::string& path);
  static Nanos StartGrain();

 private:
  static absl::StatusOr<std::vector<uint32_t>> NumbersIn(const std::string& path, size_t limit);
  absl::StatusOr<std::string> ReadAll(uint32_t pid, std::string_view entry) const;

  std::string root_;
};

}  // namespace phantomd
