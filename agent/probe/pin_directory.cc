#include "agent/probe/pin_directory.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "bpf/connect_event.h"

namespace phantomd {
namespace {

namespace fs = std::filesystem;

constexpr char kLayoutPrefix[] = "layout";
constexpr char kNew[] = "-new";

absl::Status PinFailure(const std::string& path, int error) {
  return absl::FailedPreconditionError(fmt::format("{}: {}", path, std::strerror(error)));
}

absl::Status MakeDirectory(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return PinFailure(path, errno);
  return absl::OkStatus();
}

// The descriptor that holds the lock.
absl::StatusOr<int> Lock(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return PinFailure(path, errno);
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  const int error = errno;
  close(fd);
  if (error != EWOULDBLOCK) return PinFailure(path, error);
  return absl::FailedPreconditionError(fmt::format("{}: another phantomd uses it", path));
}

std::vector<fs::path> EntriesOf(const fs::path& directory) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    out.push_back(it->path());
  }
  return out;
}

bool IsLayout(const fs::path& path) { return path.filename().string().starts_with(kLayoutPrefix); }

absl::Status RemoveAll(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  return error ? PinFailure(path, error.value()) : absl::OkStatus();
}

}  // namespace

PinDirectory::PinDirectory(std::string path)
    : path_(std::move(path)),
      layout_(fmt::format("{}/{}{}", path_, kLayoutPrefix, int{CONNECT_LAYOUT_VERSION})) {}

PinDirectory::~PinDirectory() {
  if (lock_ >= 0) close(lock_);
}

absl::StatusOr<std::unique_ptr<PinDirectory>> PinDirectory::Open(const std::string& directory) {
  std::string path = fs::absolute(directory).lexically_normal();
  if (path.back() == '/') path.pop_back();
  // Before anything is created: the directory itself, or the one that it will be in.
  const bool exists = access(path.c_str(), F_OK) == 0;
  const std::string there = exists ? path : fs::path(path).parent_path().string();
  struct statfs file_system {};
  if (statfs(there.c_str(), &file_system) != 0) return PinFailure(there, errno);
  if (file_system.f_type != BPF_FS_MAGIC) {
    return absl::FailedPreconditionError(
        fmt::format("{}: not on a BPF file system (mount -t bpf bpf /sys/fs/bpf)", path));
  }
  if (absl::Status status = MakeDirectory(path); !status.ok()) return status;
  std::unique_ptr<PinDirectory> out(new PinDirectory(path));
  absl::StatusOr<int> lock = Lock(path);
  if (!lock.ok()) return lock.status();
  out->lock_ = *lock;
  for (const std::string& directory : {out->layout_, out->layout_ + "/links"}) {
    if (absl::Status status = MakeDirectory(directory); !status.ok()) return status;
  }
  return out;
}

bool PinDirectory::HasMap(const std::string& map) const {
  return access(MapPath(map).c_str(), F_OK) == 0;
}

int PinDirectory::OpenLink(const std::string& hook) const {
  return bpf_obj_get((layout_ + "/links/" + hook).c_str());
}

absl::Status PinDirectory::PinBeside(bpf_link* link, const std::string& hook) {
  const std::string name = layout_ + "/links/" + hook + kNew;
  unlink(name.c_str());  // of an agent that did not come to replace anything
  const int error = bpf_link__pin(link, name.c_str());
  return error == 0 ? absl::OkStatus() : PinFailure(name, -error);
}

absl::Status PinDirectory::Replace(const std::vector<std::string>& hooks) {
  for (const std::string& hook : hooks) {
    const std::string name = layout_ + "/links/" + hook;
    if (rename((name + kNew).c_str(), name.c_str()) != 0) return PinFailure(name, errno);
  }
  for (const fs::path& link : EntriesOf(layout_ + "/links")) {
    const std::string name = link.filename();
    if (std::find(hooks.begin(), hooks.end(), name) == hooks.end()) unlink(link.c_str());
  }
  for (const fs::path& entry : EntriesOf(path_)) {
    if (!IsLayout(entry) || entry == layout_) continue;
    if (absl::Status status = RemoveAll(entry); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status PinDirectory::Remove(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return absl::OkStatus();
  absl::StatusOr<int> lock = Lock(path);
  if (!lock.ok()) return lock.status();
  absl::Status out;
  for (const fs::path& entry : EntriesOf(path)) {
    if (!IsLayout(entry)) continue;
    if (absl::Status status = RemoveAll(entry); !status.ok()) out = status;
  }
  // Somebody else's entries, or a mount point, keep it.
  if (rmdir(path.c_str()) != 0 && errno != ENOTEMPTY && errno != EBUSY)
    out = PinFailure(path, errno);
  close(*lock);
  return out;
}

}  // namespace phantomd
