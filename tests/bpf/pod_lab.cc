#include "tests/bpf/pod_lab.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "agent/base/check.h"
#include "tests/bpf/detached_cgroup2.h"

namespace phantomd {
namespace {

constexpr std::string_view kPodsPrefix = "phantomd-test-pods-";

std::vector<std::string> FoldersIn(const Fd& parent) {
  std::vector<std::string> out;
  DIR* entries = fdopendir(openat(parent.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  PHANTOMD_CHECK(entries != nullptr);
  while (const dirent* entry = readdir(entries)) {
    const std::string name = entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") out.push_back(name);
  }
  closedir(entries);
  return out;
}

// A cgroup stays busy for a moment after its last process.
void RemoveCgroups(const Fd& parent, const std::string& name) {
  const Fd folder(openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder.get() < 0) return;
  for (const std::string& below : FoldersIn(folder)) RemoveCgroups(folder, below);
  EXPECT_TRUE(WaitFor([&] {
    return unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT;
  })) << name;
}

}  // namespace

PodCgroups::PodCgroups()
    : root_(DetachedCgroup2()), name_(fmt::format("{}{}", kPodsPrefix, getpid())) {
  for (const std::string& name : FoldersIn(root_)) {
    if (!name.starts_with(kPodsPrefix)) continue;
    const pid_t maker = std::atoi(name.c_str() + kPodsPrefix.size());
    if (maker == getpid() || (kill(maker, 0) != 0 && errno == ESRCH)) RemoveCgroups(root_, name);
  }
}

PodCgroups::~PodCgroups() { RemoveCgroups(root_, name_); }

void PodCgroups::Move(pid_t pid, const std::string& cgroup) {
  const std::string path = fmt::format("{}/kubepods/{}", name_, cgroup);
  for (size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    PHANTOMD_CHECK(mkdirat(root_.get(), folder.c_str(), 0755) == 0 || errno == EEXIST);
    if (slash == std::string::npos) break;
  }
  const Fd members(openat(root_.get(), (path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
  PHANTOMD_CHECK(members.get() >= 0);
  const std::string text = std::to_string(pid);
  PHANTOMD_CHECK(write(members.get(), text.data(), text.size()) == ssize_t(text.size()));
}

bool PodNode::IsOurs(const PodUid& uid) const {
  return uid.value().starts_with(fmt::format("{:08x}-", getpid()));
}

TestPod PodNode::Begin(Form form) {
  const int number = ++pods_;
  TestPod out;
  out.uid = PodUid(fmt::format("{:08x}-0000-4000-8000-{:012x}", getpid(), number));
  out.ip =
      IpAddr::V4(10, 88, static_cast<uint8_t>(number / 250), static_cast<uint8_t>(number % 250));
  out.netns = std::make_unique<NetworkNamespace>();
  out.netns->Shell(
      fmt::format("ip link set lo up; ip link add eth0 type veth peer name p{} netns {};"
                  "ip addr add {}/32 dev eth0; ip link set eth0 up",
                  number, host_.path(), out.ip.ToString()));
  if (form == Form::kSandbox) out.sandbox = Start(out, "sandbox", "pause");
  out.application = Start(out, form == Form::kBare ? "" : "application");
  return out;
}

std::unique_ptr<FakeProxy> PodNode::Start(const TestPod& pod, const std::string& member,
                                          const std::string& executable) {
  auto out = std::make_unique<FakeProxy>(FakeProxy::Installed(executable), *pod.netns,
                                         std::vector<std::string>{});
  // It answers once it runs: it has its name and its namespace then.
  out->Do("listen v4 0");
  const std::string below = member.empty() ? "" : "/" + member;
  cgroups_.Move(static_cast<pid_t>(out->pid()), "pod" + pod.uid.value() + below);
  return out;
}

}  // namespace phantomd
