// The pods' processes, from a /proc that the test writes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/probe/local_pods.h"
#include "tests/base/temporary_folder.h"

namespace phantomd {
namespace {

constexpr char kPodUid[] = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9";

class PodProcessTest : public testing::TemporaryFolder {
 protected:
  void Run(uint32_t pid, const std::string& executable, const std::string& cgroup,
           const std::string& netns) {
    const std::string folder = PathOf(std::to_string(pid));
    std::filesystem::create_directories(folder + "/ns");
    std::filesystem::create_symlink(executable, folder + "/exe");
    std::filesystem::create_symlink(netns, folder + "/ns/net");
    const std::string file = std::to_string(pid);
    Write(file + "/comm", executable.substr(executable.rfind('/') + 1) + "\n");
    Write(file + "/cgroup", "4:memory:/\n0::" + cgroup + "\n");
    Write(file + "/stat", fmt::format("{} (a) S 1 1 1 0 -1 0 1 0 0 0 0 0 0 0 20 0 9 0 {} 1 2\n",
                                      pid, pid * sysconf(_SC_CLK_TCK)));
  }
  // A file stands for a namespace; both are known by their inode numbers.
  std::string Netns(const std::string& name) { return Write(name, ""); }
  static uint64_t InodeOf(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_ino;
  }
  std::vector<PodProcess> Read(uint64_t host) {
    std::vector<PodProcess> out = ReadPodProcesses(ProcReader(path()), host);
    std::sort(out.begin(), out.end(),
              [](const PodProcess& a, const PodProcess& b) { return a.process_id < b.process_id; });
    return out;
  }
};

TEST_F(PodProcessTest, TellsWhatEachIsAndWhere) {
  const std::string pod = Netns("pod");
  const std::string host = Netns("host");
  const std::string cgroup = fmt::format("/kubepods/burstable/pod{}", kPodUid);
  Run(7, "/pause", cgroup + "/4f5e6d7c8b9a", pod);
  Run(8, "/usr/bin/app", cgroup + "/111111111111/nested", pod);
  Run(9, "/usr/bin/runc", cgroup, host);
  Run(10, "/usr/sbin/sshd", "/system.slice/sshd.service", host);
  const std::vector<PodProcess> found = Read(InodeOf(host));
  ASSERT_EQ(found.size(), 3u) << "sshd is in no pod";
  EXPECT_EQ(found[0].process_id, 7u);
  EXPECT_EQ(found[0].start, BootTime::FromNanos(7'000'000'000));
  EXPECT_EQ(found[0].command, "pause");
  EXPECT_EQ(found[0].cgroup, (PodCgroup{PodUid(kPodUid), "4f5e6d7c8b9a", false}));
  EXPECT_EQ(found[0].netns, InodeOf(pod));
  EXPECT_FALSE(found[0].on_host);
  EXPECT_EQ(found[1].cgroup, (PodCgroup{PodUid(kPodUid), "111111111111", true}));
  EXPECT_EQ(found[2].cgroup, (PodCgroup{PodUid(kPodUid), "", false}));
  EXPECT_TRUE(found[2].on_host);
  for (const PodProcess& process : found) EXPECT_FALSE(process.machine);
}

TEST_F(PodProcessTest, MachinesAreKnownByTheirMonitors) {
  const std::string pod = Netns("pod");
  const std::string cgroup = fmt::format("/kubepods/pod{}", kPodUid);
  const std::vector<std::string> monitors = {
      "/usr/local/bin/runsc", "/usr/bin/qemu-system-x86_64", "/opt/kata/bin/firecracker",
      "/opt/kata/bin/cloud-hypervisor", "/opt/kata/bin/stratovirt"};
  uint32_t pid = 7;
  for (const std::string& monitor : monitors) Run(pid++, monitor, cgroup, pod);
  const std::vector<PodProcess> found = Read(1);
  ASSERT_EQ(found.size(), monitors.size());
  for (const PodProcess& process : found) EXPECT_TRUE(process.machine) << process.command;
}

TEST_F(PodProcessTest, WhoCannotBeReadIsLeftOut) {
  const std::string pod = Netns("pod");
  const std::string cgroup = fmt::format("/kubepods/pod{}", kPodUid);
  for (const char* entry : {"exe", "comm", "cgroup", "stat", "ns/net"}) {
    SCOPED_TRACE(entry);
    Run(7, "/usr/bin/app", cgroup, pod);
    EXPECT_EQ(Read(1).size(), 1u);
    std::filesystem::remove(PathOf("7/") + entry);
    EXPECT_EQ(Read(1).size(), 0u);
    std::filesystem::remove_all(PathOf("7"));
  }
}

}  // namespace
}  // namespace phantomd
