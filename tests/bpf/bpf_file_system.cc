#include "tests/bpf/bpf_file_system.h"

#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>

#include "agent/base/check.h"

namespace phantomd {
namespace {

class PrivateMount {
 public:
  PrivateMount() {
    PHANTOMD_CHECK(mkdtemp(directory_.data()) != nullptr);
    PHANTOMD_CHECK(unshare(CLONE_NEWNS) == 0);
    PHANTOMD_CHECK(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0);
    PHANTOMD_CHECK(mount("bpf", directory_.c_str(), "bpf", 0, nullptr) == 0);
  }
  ~PrivateMount() {
    umount2(directory_.c_str(), MNT_DETACH);
    rmdir(directory_.c_str());
  }
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_ = "/tmp/phantomd-bpf-XXXXXX";
};

}  // namespace

const std::string& BpfFileSystem() {
  static const PrivateMount mount;
  return mount.directory();
}

}  // namespace phantomd
