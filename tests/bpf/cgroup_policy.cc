#include "tests/bpf/cgroup_policy.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <string_view>

#include "agent/base/check.h"
#include "tests/bpf/detached_cgroup2.h"

namespace phantomd {
namespace {

constexpr std::string_view kPrefix = "phantomd-test-forbidding-";

// Removes the directories of processes that are no more.
void Sweep(const Fd& root) {
  DIR* entries = fdopendir(openat(root.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  PHANTOMD_CHECK(entries != nullptr);
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (!name.starts_with(kPrefix)) continue;
    const pid_t maker = std::atoi(name.c_str() + kPrefix.size());
    if (maker == getpid() || (kill(maker, 0) != 0 && errno == ESRCH)) {
      unlinkat(root.get(), name.c_str(), AT_REMOVEDIR);
    }
  }
  closedir(entries);
}

// return 0: the call fails with EPERM.
void Forbid(const Fd& cgroup, bpf_attach_type hook) {
  const bpf_insn program[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0},
  };
  bpf_prog_load_opts options{};
  options.sz = sizeof(options);
  options.expected_attach_type = hook;
  const Fd loaded(bpf_prog_load(BPF_PROG_TYPE_CGROUP_SOCK_ADDR, "forbid", "GPL", program,
                                sizeof(program) / sizeof(program[0]), &options));
  PHANTOMD_CHECK(loaded.get() >= 0);
  PHANTOMD_CHECK(bpf_prog_attach(loaded.get(), cgroup.get(), hook, 0) == 0);
}

}  // namespace

ForbiddingCgroup::ForbiddingCgroup()
    : root_(DetachedCgroup2()), name_(std::string(kPrefix) + std::to_string(getpid())) {
  Sweep(root_);
  PHANTOMD_CHECK(mkdirat(root_.get(), name_.c_str(), 0755) == 0);
  cgroup_ = Fd(openat(root_.get(), name_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  PHANTOMD_CHECK(cgroup_.get() >= 0);
  Forbid(cgroup_, BPF_CGROUP_INET4_CONNECT);
  Forbid(cgroup_, BPF_CGROUP_INET6_CONNECT);
}

ForbiddingCgroup::~ForbiddingCgroup() {
  cgroup_.Close();
  unlinkat(root_.get(), name_.c_str(), AT_REMOVEDIR);  // the programs go with it
}

void ForbiddingCgroup::Enter() const {
  const Fd members(openat(cgroup_.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
  PHANTOMD_CHECK(members.get() >= 0);
  PHANTOMD_CHECK(write(members.get(), "0", 1) == 1);
}

}  // namespace phantomd
