// Adoption with a kernel that the test plays: what is tried again and when, and who is known to be
// whose.
#include "agent/probe/connection_adoption.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>
#include <sys/syscall.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "tests/base/temporary_folder.h"
#include "tests/probe/instants.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kProxyUid = 1337;
constexpr uint64_t kPodCgroup = 5;

class FakeSockets : public SocketSource {
 public:
  absl::StatusOr<std::vector<socket_place>> SocketsOf(uint32_t process_id) const override {
    if (!listing.ok()) return listing;
    const auto it = held.find(process_id);
    return it == held.end() ? std::vector<socket_place>() : it->second;
  }
  absl::StatusOr<std::vector<socket_record>> AdoptConnections(
      const std::string& netns_path) const override {
    walked.push_back(netns_path);
    if (!walk.ok()) return walk;
    std::vector<socket_record> out;
    for (const socket_record& socket : sockets) {
      if (watched.contains({socket.netns_cookie, 0})) out.push_back(socket);
    }
    return out;
  }
  bool Watches(uint64_t netns_cookie, uint64_t cgroup_id) const override {
    return watched.contains({netns_cookie, cgroup_id});
  }

  absl::Status walk;
  absl::Status listing;
  std::vector<socket_record> sockets;
  std::map<uint32_t, std::vector<socket_place>> held;  // by process ID
  std::set<std::pair<uint64_t, uint64_t>> watched = {{kPod, 0}};
  mutable std::vector<std::string> walked;
};

// Envoy is process 7 of the pod.
class ConnectionAdoptionTest : public testing::TemporaryFolder {
 protected:
  ConnectionAdoptionTest() { Live(7, kPod); }

  void Live(uint32_t pid, uint64_t netns, uint64_t cgroup = kPodCgroup) {
    ProxyProcess process;
    process.proxy_id = ProxyId("p");
    process.process_id = pid;
    process.start = At(1);
    process.netns_cookie = netns;
    process.cgroup_id = cgroup;
    process.uid = kProxyUid;
    processes_.Add(process);
  }
  void Connected(uint64_t cookie, uint32_t uid, uint8_t state = TCP_ESTABLISHED) {
    kernel_.sockets.push_back({.socket_cookie = cookie,
                               .netns_cookie = kPod,
                               .cgroup_id = kPodCgroup,
                               .uid = uid,
                               .local_port = static_cast<uint16_t>(40'000 + cookie),
                               .remote_port = 80,
                               .state = state});
  }
  void Holds(uint32_t pid, uint32_t fd, uint64_t cookie) {
    kernel_.held[pid].push_back({.netns_cookie = kPod,
                                 .socket_cookie = cookie,
                                 .process_id = pid,
                                 .tcp_state = TCP_ESTABLISHED,
                                 .fd = fd});
  }
  // The main thread of process 7 waits in an epoll of these descriptors.
  void MainPolls(const std::vector<uint32_t>& fds) {
    const std::string process = path() + "/7";
    std::filesystem::create_directories(process + "/fdinfo");
    std::ofstream(process + "/syscall")
        << SYS_epoll_pwait << " 0x1f 0x7ffd 0x10 0xffffffff 0x0 0x8 0x7ffd 0x7f0a\n";
    std::ofstream list(process + "/fdinfo/31");
    list << "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t1054\n";
    for (const uint32_t fd : fds) {
      list << fmt::format("tfd: {:8} events:       19 data: 7f pos:0 ino:61af sdev:8\n", fd);
    }
  }
  void Round() { adoption_.Adopt(At(10)); }
  void Scan() {
    adoption_.AfterScan();
    Round();
  }
  Initiator Known(uint64_t cookie) const {
    const Opener* known = ends_.Remembered(cookie);
    return known == nullptr ? Initiator::kUnspecified : known->initiator;
  }

  FakeSockets kernel_;
  ProcReader proc_{path()};
  ProxyProcesses processes_;
  InitiatorResolver openers_{processes_, {}};
  EndResolver ends_{openers_, std::chrono::milliseconds(1200)};
  ConnectionAdoption adoption_{kernel_, proc_, processes_, openers_, ends_, kHost};
};

TEST_F(ConnectionAdoptionTest, WalkThatFailedIsTriedAgainAtEachScanAndToldMeanwhile) {
  Connected(1, 0);
  kernel_.walk = absl::ResourceExhaustedError("too many open files");
  Round();
  Round();
  EXPECT_THAT(kernel_.walked, ElementsAre(path() + "/7/ns/net")) << "not in every round";
  EXPECT_THAT(adoption_.Limitations(), ElementsAre(HasSubstr("in 1 network namespaces: too many")));
  Scan();
  EXPECT_EQ(kernel_.walked.size(), 2u);
  EXPECT_EQ(adoption_.Limitations().size(), 1u);
  EXPECT_EQ(Known(1), Initiator::kUnspecified);
  kernel_.walk = absl::OkStatus();
  Scan();
  EXPECT_EQ(Known(1), Initiator::kApplication);
  EXPECT_THAT(adoption_.Limitations(), IsEmpty());
  Scan();
  EXPECT_EQ(kernel_.walked.size(), 3u) << "once it has worked, it is over";
}

TEST_F(ConnectionAdoptionTest, NamespaceThatCannotBeWatchedYetIsWalkedWhenItIs) {
  Connected(1, 0);
  kernel_.watched.clear();
  Round();
  EXPECT_THAT(kernel_.walked, IsEmpty());
  kernel_.watched = {{kPod, 0}};
  Scan();
  EXPECT_EQ(Known(1), Initiator::kApplication);
}

TEST_F(ConnectionAdoptionTest, WhatNoProcessLeadsToAnyMoreIsNotTold) {
  kernel_.walk = absl::ResourceExhaustedError("too many open files");
  Round();
  processes_.End(7, At(1), At(20));
  Scan();
  EXPECT_THAT(adoption_.Limitations(), IsEmpty());
  EXPECT_EQ(kernel_.walked.size(), 1u);
}

TEST_F(ConnectionAdoptionTest, AnotherProcessLeadsThereWhenTheFirstIsGone) {
  Live(8, kPod);
  kernel_.walk = absl::NotFoundError("gone");
  Round();
  EXPECT_THAT(kernel_.walked, ElementsAre(path() + "/7/ns/net", path() + "/8/ns/net"));
  EXPECT_THAT(adoption_.Limitations(), IsEmpty());
  Round();
  EXPECT_EQ(kernel_.walked.size(), 2u);
  kernel_.walk = absl::OkStatus();
  Scan();
  Scan();
  EXPECT_EQ(kernel_.walked.size(), 3u);
}

TEST_F(ConnectionAdoptionTest, KernelThatNeverWalksIsNotAskedAgain) {
  kernel_.walk = absl::UnimplementedError("no such program");
  Round();
  Scan();
  EXPECT_EQ(kernel_.walked.size(), 1u);
  EXPECT_THAT(adoption_.Limitations(), IsEmpty()) << "said when it was loaded";
}

TEST_F(ConnectionAdoptionTest, PlaceThatIsNoLongerWatchedIsNewWhenItIsWatchedAgain) {
  Live(9, kHost, 77);
  kernel_.watched.insert({kHost, 77});
  Round();
  Scan();
  EXPECT_THAT(kernel_.walked, ElementsAre(path() + "/7/ns/net", path() + "/9/ns/net"));
  // The host's namespace itself may be watched for another cgroup.
  kernel_.watched = {{kHost, 0}, {kHost, 78}, {kPod, 0}};
  adoption_.AfterScan();
  kernel_.watched.insert({kHost, 77});
  Scan();
  EXPECT_EQ(kernel_.walked.size(), 3u);
  EXPECT_EQ(kernel_.walked.back(), path() + "/9/ns/net");
}

TEST_F(ConnectionAdoptionTest, WhoIsKnownIsNotOverwrittenByAWorseGuess) {
  Connected(1, 0);
  Connected(2, kProxyUid);
  Holds(7, 20, 2);
  ends_.Adopted(1, {Initiator::kProxy, ProxyId("q")}, At(5));
  Round();
  EXPECT_EQ(ends_.Remembered(1)->proxy_id, ProxyId("q")) << "by a walk that saw nobody hold it";
  EXPECT_EQ(Known(2), Initiator::kProxy);
  // Watched anew, when the proxy has closed its descriptor.
  kernel_.held.clear();
  kernel_.watched.clear();
  adoption_.AfterScan();
  kernel_.watched = {{kPod, 0}};
  Round();
  EXPECT_EQ(kernel_.walked.size(), 2u);
  EXPECT_EQ(Known(1), Initiator::kProxy);
  EXPECT_EQ(Known(2), Initiator::kProxy);
  // The other way round: what was only a guess is replaced.
  ends_.Adopted(3, {Initiator::kApplication, ProxyId("p")}, At(5));
  Connected(3, kProxyUid);
  Holds(7, 21, 3);
  kernel_.watched.clear();
  adoption_.AfterScan();
  kernel_.watched = {{kPod, 0}};
  Round();
  EXPECT_EQ(Known(3), Initiator::kProxy);
}

TEST_F(ConnectionAdoptionTest, WhatMayBeTheProxysIsNobodysUntilItsSocketsCanBeListed) {
  Connected(1, 0);
  Connected(2, kProxyUid);
  Holds(7, 20, 2);
  kernel_.listing = absl::ResourceExhaustedError("too many open files");
  Round();
  EXPECT_EQ(Known(1), Initiator::kApplication);
  EXPECT_EQ(Known(2), Initiator::kUnspecified);
  EXPECT_EQ(adoption_.Limitations().size(), 1u);
  kernel_.listing = absl::OkStatus();
  Scan();
  EXPECT_EQ(Known(2), Initiator::kProxy);
  EXPECT_THAT(adoption_.Limitations(), IsEmpty());
}

TEST_F(ConnectionAdoptionTest, WhatEnvoysMainThreadPollsIsControl) {
  Connected(1, kProxyUid);
  Connected(2, kProxyUid);
  Connected(3, kProxyUid, TCP_SYN_SENT);
  Holds(7, 20, 1);
  Holds(7, 21, 2);
  Holds(7, 22, 3);
  MainPolls({5, 20, 22});
  Round();
  EXPECT_EQ(Known(1), Initiator::kProxyControl);
  EXPECT_EQ(Known(2), Initiator::kProxy);
  EXPECT_EQ(Known(3), Initiator::kProxyControl) << "a health check of a dead host";
}

TEST_F(ConnectionAdoptionTest, BusyMainThreadLeavesTheThreadUnknown) {
  Connected(1, kProxyUid);
  Holds(7, 20, 1);
  MainPolls({20});
  std::ofstream(path() + "/7/syscall") << "running\n";
  Round();
  EXPECT_EQ(Known(1), Initiator::kProxy);
}

}  // namespace
}  // namespace phantomd
