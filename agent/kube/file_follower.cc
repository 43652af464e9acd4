#include "agent/kube/file_follower.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace phantomd {
namespace {

// An event's end, with the object's last fields, differs between any two events of a feed.
constexpr size_t kTailBytes = 256;

}  // namespace

bool FileFollower::Open() {
  // O_NONBLOCK: opening a FIFO must not wait for its writer.
  fd_ = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status {};
  if (fd_ < 0 || fstat(fd_, &status) != 0) {
    trouble_ = fmt::format("{} cannot be read: {}", path_, std::strerror(errno));
    Close();
    return false;
  }
  if (!S_ISREG(status.st_mode)) {
    trouble_ = fmt::format("{} cannot be followed: it is not a regular file", path_);
    Close();
    return false;
  }
  trouble_.clear();
  return true;
}

void FileFollower::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  offset_ = 0;
  tail_.clear();
}

FileFollower::Found FileFollower::Replaced(const char* how) {
  Close();
  trouble_ = fmt::format("{} {}", path_, how);
  return Found::kReplaced;
}

FileFollower::Found FileFollower::Step(std::string& bytes) {
  bytes.clear();
  if (fd_ < 0 && !Open()) return Found::kMissing;
  // Before the read, so that what was appended to the old file before it was replaced is not lost.
  struct stat at_path {};
  const bool path_exists = stat(path_.c_str(), &at_path) == 0;
  struct stat ours {};
  if (fstat(fd_, &ours) != 0) return Replaced("can no longer be read");
  if (ours.st_size < offset_) return Replaced("became shorter than what was read of it");

  const int64_t from = offset_ - static_cast<int64_t>(tail_.size());
  bytes.resize(tail_.size() + std::min<int64_t>(kStepBytes, ours.st_size - offset_));
  const ssize_t n = pread(fd_, bytes.data(), bytes.size(), from);
  if (n < 0) return Replaced("can no longer be read");
  bytes.resize(static_cast<size_t>(n));
  if (!bytes.starts_with(tail_)) {
    bytes.clear();
    return Replaced("was written anew");
  }
  if (bytes.size() > tail_.size()) {
    bytes.erase(0, tail_.size());
    offset_ += static_cast<int64_t>(bytes.size());
    tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTailBytes));
    tail_.erase(0, tail_.size() - std::min(tail_.size(), kTailBytes));
    return Found::kBytes;
  }
  bytes.clear();
  if (!path_exists) return Replaced("was removed");
  if (at_path.st_ino != ours.st_ino || at_path.st_dev != ours.st_dev) {
    return Replaced("was replaced by another file");
  }
  return Found::kEnd;
}

}  // namespace phantomd
