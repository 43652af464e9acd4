// One agent follows another by its pins.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <memory>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/outcome.h"
#include "tests/bpf/bpf_file_system.h"
#include "tests/bpf/network_lab.h"
#include "tests/bpf/probe_fixture.h"

namespace phantomd {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::unique_ptr<KernelProbe> LoadOrDie(const std::string& directory, uint32_t ring_bytes = 65536) {
  auto probe = KernelProbe::Load(
      {.ring_bytes = ring_bytes, .watch_new_proxies = false, .pin_dir = directory});
  if (!probe.ok()) ADD_FAILURE() << probe.status();
  PHANTOMD_CHECK(probe.ok());
  return *std::move(probe);
}

class PinTest : public testing::Test {
 protected:
  PinTest()
      : directory_(BpfFileSystem() + "/" +
                   testing::UnitTest::GetInstance()->current_test_info()->name()) {}
  ~PinTest() override { EXPECT_TRUE(PinDirectory::Remove(directory_).ok()); }

  Fd Connecting() {
    Fd fd;
    lab_.client.Run([&] {
      fd = TcpSocket(Family::kV4, false);
      EXPECT_EQ(Connect(fd, Family::kV4, lab_.Silent(Family::kV4), 80), EINPROGRESS);
    });
    return fd;
  }
  void Refused(int times) {
    lab_.client.Run([&] {
      for (int i = 0; i < times; ++i) {
        EXPECT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, lab_.Server(Family::kV4), 9),
                  ECONNREFUSED);
      }
    });
  }
  static std::vector<Attempt> Take(KernelProbe& probe) {
    std::vector<Attempt> out;
    for (const ConnectRecord& record : probe.TakeConnects(100'000)) {
      if (const auto* connect = std::get_if<connect_record>(&record)) {
        out.push_back(ToAttempt(*connect));
      }
    }
    return out;
  }

  const std::string directory_;
  NetworkLab lab_;
};

TEST_F(PinTest, WhatHappensBetweenTwoAgentsIsReadByTheSecond) {
  Fd before;
  Fd across;
  BootTime started;
  {
    const auto first = LoadOrDie(directory_);
    EXPECT_FALSE(first->continues());
    ASSERT_TRUE(first->Watch(lab_.client.cookie()).ok());
    Refused(1);
    EXPECT_EQ(Take(*first).size(), 1u);
    started = SystemClock().Now();
    across = Connecting();
    before = Connecting();
  }
  const BootTime between = SystemClock().Now();
  before.Close();
  Refused(1);
  const auto second = LoadOrDie(directory_);
  EXPECT_TRUE(second->continues());
  EXPECT_THAT(second->Watched(), testing::ElementsAre(lab_.client.cookie()));
  const std::vector<Attempt> seen = Take(*second);
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].outcome, Outcome::kAbandoned);
  EXPECT_GE(seen[0].started, started);
  EXPECT_LE(seen[0].started, between);
  EXPECT_FALSE(seen[0].adopted);
  EXPECT_EQ(seen[1].outcome, Outcome::kRefused);
  across.Close();
  const std::vector<Attempt> last = Take(*second);
  ASSERT_EQ(last.size(), 1u);
  EXPECT_LE(last[0].started, between);
}

TEST_F(PinTest, WhatWasTakenButNotReleasedIsTakenAgainAfterACrash) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    auto probe = KernelProbe::Load({.watch_new_proxies = false, .pin_dir = directory_});
    if (!probe.ok() || !(*probe)->Watch(lab_.client.cookie()).ok()) _exit(1);
    Refused(3);
    if (Take(**probe).size() != 3) _exit(2);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
  EXPECT_EQ(Take(*LoadOrDie(directory_)).size(), 3u);
  EXPECT_THAT(Take(*LoadOrDie(directory_)), IsEmpty());
}

TEST_F(PinTest, RingStaysAsLargeAsItWas) {
  LoadOrDie(directory_, 65536);
  const auto second = LoadOrDie(directory_, 1024 * 1024);
  EXPECT_TRUE(second->continues());
}

TEST_F(PinTest, SecondAgentAtOnceIsRefused) {
  const auto first = LoadOrDie(directory_);
  const auto second = KernelProbe::Load({.pin_dir = directory_});
  EXPECT_EQ(FromAbsl(second.status().message()),
            fmt::format("{}: another phantomd uses it", directory_));
  EXPECT_THAT(FromAbsl(PinDirectory::Remove(directory_).message()), HasSubstr("another phantomd"));
}

TEST_F(PinTest, SlashAtTheEndIsTheSameDirectory) {
  LoadOrDie(directory_ + "/");
  EXPECT_TRUE(LoadOrDie(directory_)->continues());
}

TEST_F(PinTest, OrdinaryFileSystemIsRefused) {
  const std::string directory = fmt::format("/tmp/phantomd-no-bpf-{}", getpid());
  const auto probe = KernelProbe::Load({.pin_dir = directory});
  EXPECT_THAT(FromAbsl(probe.status().message()), HasSubstr("not on a BPF file system"));
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST_F(PinTest, RemovingLeavesNothing) {
  {
    const auto probe = LoadOrDie(directory_);
    ASSERT_TRUE(probe->Watch(lab_.client.cookie()).ok());
  }
  EXPECT_TRUE(std::filesystem::exists(directory_));
  EXPECT_TRUE(PinDirectory::Remove(directory_).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_));
  Refused(1);
  const auto fresh = LoadOrDie(directory_);
  EXPECT_FALSE(fresh->continues());
  EXPECT_THAT(Take(*fresh), IsEmpty());
  EXPECT_TRUE(PinDirectory::Remove(BpfFileSystem() + "/never").ok());
}

TEST_F(PinTest, OtherLayoutsAreRemovedAndOtherThingsKept) {
  ASSERT_EQ(mkdir(directory_.c_str(), 0700), 0);
  ASSERT_EQ(mkdir((directory_ + "/layout0").c_str(), 0700), 0);
  ASSERT_EQ(mkdir((directory_ + "/others").c_str(), 0700), 0);
  LoadOrDie(directory_);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/layout0"));
  EXPECT_TRUE(PinDirectory::Remove(directory_).ok());
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/others"));
  EXPECT_EQ(rmdir((directory_ + "/others").c_str()), 0);
}

class PinProbeTest : public ProbeTest {
 protected:
  PinProbeTest() : directory_(BpfFileSystem() + "/probe") {}
  ~PinProbeTest() override {
    probe_.reset();
    EXPECT_TRUE(PinDirectory::Remove(directory_).ok());
  }
  ProbeOptions Pinned() const {
    ProbeOptions options;
    options.kernel.pin_dir = directory_;
    options.kernel.ring_bytes = getpagesize();
    return options;
  }
  const std::string directory_;
};

// The proxy of a pod goes on connecting while no agent runs, more often than the ring can hold.
TEST_F(PinProbeTest, LossesBetweenTwoAgentsAreCounted) {
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  proxy.Do("listen v4 0");
  StartProbe(Pinned());
  const IpAddr server = lab_.Server(Family::kV4);
  proxy.Connect("worker", Family::kV4, server, 9);
  Consume();
  EXPECT_EQ(attempts_.size(), 1u);
  ASSERT_EQ(losses_.size(), 1u) << "the first agent knows nothing of what was before it";
  EXPECT_TRUE(losses_[0].count_unknown);
  const BootTime stopped = SystemClock().Now();
  probe_.reset();
  constexpr uint64_t kConnects = 200;
  for (uint64_t i = 0; i < kConnects; ++i) proxy.Connect("worker", Family::kV4, server, 9);
  const BootTime connected = SystemClock().Now();
  attempts_.clear();
  losses_.clear();
  StartProbe(Pinned());
  Consume();
  uint64_t lost = 0;
  for (const Loss& loss : losses_) {
    EXPECT_EQ(loss.what, "attempt");
    EXPECT_FALSE(loss.count_unknown);
    EXPECT_LE(loss.from, stopped);
    EXPECT_LE(loss.to, SystemClock().Now());
    lost += loss.count;
  }
  EXPECT_GT(lost, 0u);
  EXPECT_EQ(attempts_.size() + lost, kConnects);
  for (const Attempt& attempt : attempts_) {
    EXPECT_EQ(attempt.initiator, Initiator::kProxy);
    EXPECT_LE(attempt.ended, connected);
  }
  // The account is balanced.
  EXPECT_THAT(probe_->Limitations(), Not(Contains(HasSubstr("records of the kind"))));
}

// Without pins each restart is an outage, and says so.
TEST_F(PinProbeTest, WithoutPinsEveryOutageIsALossWithItsBounds) {
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  proxy.Do("listen v4 0");
  const IpAddr server = lab_.Server(Family::kV4);
  for (int restart = 0; restart < 10; ++restart) {
    const BootTime stopped = SystemClock().Now();
    probe_.reset();
    proxy.Connect("worker", Family::kV4, server, 9);
    const BootTime connected = SystemClock().Now();
    attempts_.clear();
    losses_.clear();
    StartProbe();
    proxy.Connect("worker", Family::kV4, server, 9);
    Consume();
    ASSERT_EQ(losses_.size(), 1u);
    EXPECT_EQ(losses_[0].what, "attempt");
    EXPECT_TRUE(losses_[0].count_unknown);
    EXPECT_LE(losses_[0].from, stopped);
    EXPECT_GE(losses_[0].to, connected);
    EXPECT_EQ(attempts_.size(), 1u);
  }
}

// What the agent before was told of is no outage, but for what still waited for the accepting side.
constexpr Nanos kStillWaited = std::chrono::milliseconds(1450);

TEST_F(PinProbeTest, TheOutageBeginsWhereTheAgentBeforeEnds) {
  const FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  ProbeOptions options;
  options.predecessor = {.until = SystemClock().Now(), .ended = true, .had_proxies = true};
  StartProbe(options);
  ASSERT_EQ(losses_.size(), 2u);
  EXPECT_EQ(losses_[0].what, "attempt");
  EXPECT_EQ(losses_[1].what, "connection_end");
  for (const Loss& loss : losses_) {
    EXPECT_TRUE(loss.count_unknown);
    EXPECT_EQ(loss.from, options.predecessor->until - kStillWaited);
    EXPECT_LE(loss.to, SystemClock().Now());
  }
}

TEST_F(PinProbeTest, AProxyThatBeganInTheOutageBeginsIt) {
  ProbeOptions options;
  options.predecessor = {
      .until = SystemClock().Now() + kStillWaited, .ended = true, .had_proxies = false};
  const FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  StartProbe(options);
  ASSERT_FALSE(losses_.empty());
  EXPECT_GE(losses_[0].from, options.predecessor->until - kStillWaited);
}

TEST_F(PinProbeTest, AProxyOfTheAgentBeforeMayHaveEndedInTheOutage) {
  ProbeOptions options;
  options.discovery.proc_root = "/nonexistent";
  options.predecessor = {.until = SystemClock().Now(), .ended = true, .had_proxies = true};
  StartProbe(options);
  ASSERT_FALSE(losses_.empty());
  EXPECT_EQ(losses_[0].from, options.predecessor->until - kStillWaited);
}

// Pinned records wait for the next agent, but not those that a killed one had read and not kept.
TEST_F(PinProbeTest, WithPinsOnlyAKilledAgentIsAnOutage) {
  const FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  StartProbe(Pinned());
  for (const bool ended : {true, false}) {
    probe_.reset();
    losses_.clear();
    ProbeOptions options = Pinned();
    options.predecessor = {.until = SystemClock().Now(), .ended = ended, .had_proxies = true};
    StartProbe(options);
    ASSERT_EQ(losses_.size(), ended ? 0u : 2u);
  }
}

// A proxy is the same for two agents, whether one saw its exec or found it in /proc.
TEST_F(PinProbeTest, AProxyKeepsItsNameFromAgentToAgent) {
  StartProbe();
  const FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  ASSERT_TRUE(WaitForProxies(1));
  const ProxyId id = proxies_[0].proxy.id;
  probe_.reset();
  proxies_.clear();
  StartProbe();
  ASSERT_TRUE(WaitForProxies(1));
  EXPECT_EQ(proxies_[0].proxy.id, id);
}

// Where no proxy lived, nothing was missed.
TEST_F(PinProbeTest, NoProxyNoOutage) {
  ProbeOptions options;
  options.discovery.proc_root = "/nonexistent";
  StartProbe(options);
  EXPECT_THAT(losses_, IsEmpty());
}

}  // namespace
}  // namespace phantomd
