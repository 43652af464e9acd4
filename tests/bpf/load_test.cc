// Loading: in every configuration, and where the machine or the user will not do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "agent/base/clock.h"
#include "agent/probe/io_uring_tracepoint.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/probe.h"
#include "agent/probe/probe_hooks.h"
#include "bpf/connect.skel.h"
#include "tests/base/temporary_folder.h"

namespace phantomd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAreArray;

TEST(LoadTest, EveryConfigurationPassesTheVerifier) {
  // Code behind a constant is verified only where the constant lets it run.
  for (const uint64_t host_netns_cookie : {uint64_t{0}, uint64_t{1}}) {
    for (const uint32_t ring_bytes : {1u, 4096u * 1024}) {
      for (const bool flag : {false, true}) {
        const absl::StatusOr<std::unique_ptr<KernelProbe>> probe =
            KernelProbe::Load({.ring_bytes = ring_bytes,
                               .host_netns_cookie = host_netns_cookie,
                               .watch_new_proxies = flag,
                               .record_closes = flag});
        ASSERT_TRUE(probe.ok()) << probe.status();
        EXPECT_THAT((*probe)->limitations(), IsEmpty());
      }
    }
  }
}

// The constants alone, in every combination, those included that no option of the probe sets.
TEST(LoadTest, EveryCombinationOfConstantsPassesTheVerifier) {
  KeepComplaints();
  const IoUringTracepoint io_uring = ReadIoUringTracepoint(KernelProbeOptions().btf_path);
  // A kernel that tells the entry has no argument for the result: only there is the other one
  // rightly refused.
  std::vector<bool> tells_entry = {true};
  if (io_uring != IoUringTracepoint::kEntry) tells_entry.push_back(false);
  for (const uint64_t host_netns_cookie : {0, 1}) {
    for (const uint64_t own_generation : {0, 2}) {
      for (const bool record_closes : {false, true}) {
        for (const bool entry : tells_entry) {
          ForgetComplaints();
          const std::unique_ptr<connect_bpf, void (*)(connect_bpf*)> bpf(connect_bpf::open(),
                                                                         connect_bpf::destroy);
          ASSERT_NE(bpf, nullptr) << Reason(errno);
          bpf->rodata->host_netns_cookie = host_netns_cookie;
          bpf->rodata->own_generation = own_generation;
          bpf->rodata->record_closes = record_closes;
          bpf->rodata->io_uring_tells_entry = entry;
          const bool tells =
              io_uring == IoUringTracepoint::kEntry || io_uring == IoUringTracepoint::kResult;
          bpf_program__set_autoload(bpf->progs.on_io_uring_complete, tells);
          const int error = connect_bpf::load(bpf.get());
          EXPECT_EQ(error, 0) << Reason(error) << " with host " << host_netns_cookie
                              << ", generation " << own_generation << ", closes " << record_closes
                              << ", entry " << entry;
        }
      }
    }
  }
}

// This kernel's types, of which one has another name: what needs it is refused.
class RefusedProgramTest : public testing::TemporaryFolder {
 protected:
  std::string TypesWithout(const std::vector<std::string>& names) {
    std::ifstream from("/sys/kernel/btf/vmlinux", std::ios::binary);
    std::string types((std::istreambuf_iterator<char>(from)), {});
    for (const std::string& name : names) {
      const size_t at = types.find(std::string(1, '\0') + name + std::string(1, '\0'));
      EXPECT_NE(at, std::string::npos) << name;
      if (at != std::string::npos) types[at + 1] = '_';
    }
    const std::string out = path() + "/types";
    std::ofstream(out, std::ios::binary) << types;
    return out;
  }
};

TEST_F(RefusedProgramTest, IsLeftOutAloneAndItsEffectTold) {
  struct Program {
    const char* name;
    const char* effect;
  };
  struct Row {
    const char* type;
    std::vector<Program> programs;  // those that need it
  };
  const Program pod_exit = {"on_pod_exit",
                            "the ends of this node's pods are known by what the API"};
  const Row rows[] = {
      {"fdtable", {{"on_connect_return", "connects that fail before any SYN (no route)"}}},
      {"nsproxy", {{"on_exec", "new proxies are found by scanning /proc only"}, pod_exit}},
      {"signal_struct",
       {{"on_exit", "the end of a proxy is noticed by scanning /proc only"}, pod_exit}},
      {"net_device", {pod_exit}},
      {"bpf_iter__tcp", {{"on_tcp_socket", "connections that existed before the agent"}}},
      {"bpf_iter__task_file",
       {{"on_open_file", "which sockets a proxy's process has made already"}}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.type);
    const auto probe = KernelProbe::Load({.btf_path = TypesWithout({row.type})});
    ASSERT_TRUE(probe.ok()) << probe.status();
    std::vector<::testing::Matcher<std::string>> told;
    bool pods = true;
    bool walks = true;
    for (const Program& program : row.programs) {
      told.push_back(AllOf(HasSubstr(program.name), HasSubstr(program.effect)));
      pods &= program.name != std::string("on_pod_exit");
      walks &= program.name != std::string("on_tcp_socket");
    }
    EXPECT_THAT((*probe)->limitations(), UnorderedElementsAreArray(told));
    EXPECT_EQ((*probe)->pods() != nullptr, pods);
    const auto walked = (*probe)->AdoptConnections("/proc/self/ns/net");
    EXPECT_EQ(absl::IsUnimplemented(walked.status()), !walks);
    EXPECT_EQ(walked.ok(), walks) << walked.status();
  }
}

TEST_F(RefusedProgramTest, EveryRefusedOneIsFound) {
  const auto probe = KernelProbe::Load({.btf_path = TypesWithout({"fdtable", "signal_struct"})});
  ASSERT_TRUE(probe.ok()) << probe.status();
  EXPECT_THAT((*probe)->limitations(), ElementsAre(HasSubstr("on_connect_return"),
                                                   HasSubstr("on_exit"), HasSubstr("on_pod_exit")));
}

TEST_F(RefusedProgramTest, OneThatIsNeededIsAnError) {
  const auto probe = KernelProbe::Load({.btf_path = TypesWithout({"sock_exterr_skb"})});
  ASSERT_FALSE(probe.ok());
  EXPECT_THAT(std::string(probe.status().message()), HasSubstr("on_error_report"));
}

TEST(LoadTest, MissingTypeInformationIsSaid) {
  const auto probe = KernelProbe::Load({.btf_path = "/nonexistent/vmlinux"});
  ASSERT_FALSE(probe.ok());
  EXPECT_THAT(std::string(probe.status().message()),
              HasSubstr("no kernel type information at /nonexistent/vmlinux"));
}

// What a child without rights is told by `start`.
template <typename Start>
std::string ToldToAnOrdinaryUser(Start start) {
  int channel[2];
  EXPECT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(2);
    const auto probe = start();
    const std::string text(probe.status().message());
    const bool written = write(channel[1], text.data(), text.size()) == ssize_t(text.size());
    _exit(!probe.ok() && written ? 0 : 1);
  }
  close(channel[1]);
  char text[512] = {};
  EXPECT_GT(read(channel[0], text, sizeof(text) - 1), 0);
  close(channel[0]);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

TEST(LoadTest, OrdinaryUserIsToldThePlainReason) {
  const char* plain = "recording connects needs root; this is user 65534";
  EXPECT_EQ(ToldToAnOrdinaryUser([] { return KernelProbe::Load({}); }), plain);
  EXPECT_EQ(ToldToAnOrdinaryUser([] { return Probe::Start({}, SystemClock().Now()); }), plain);
}

}  // namespace
}  // namespace phantomd
