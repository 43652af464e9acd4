// What happens when records are lost: nothing is missing without being told, how much, since when,
// until when and of whom.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <map>

#include "tests/bpf/probe_fixture.h"

namespace phantomd {
namespace {

class ProbeLossTest : public ProbeTest {
 protected:
  // With room for some thirty records.
  void StartSmallProbe() {
    ProbeOptions options;
    options.kernel.ring_bytes = getpagesize();
    StartProbe(options);
  }

  // Other namespaces of this machine may hold proxies of their own, whose losses have a proxy.
  std::map<ProxyId, uint64_t> LostAttempts() const {
    std::map<ProxyId, uint64_t> out;
    for (const Loss& loss : losses_) {
      if (loss.what == "attempt") out[loss.proxy_id] += loss.count;
    }
    return out;
  }
  RecordBalance Balance(const std::string& what) const {
    for (const RecordBalance& balance : probe_->Balances()) {
      if (balance.what == what) return balance;
    }
    return {};
  }
  void RefusedAsApplication(uint64_t times) {
    lab_.client.Run([&] {
      for (uint64_t i = 0; i < times; ++i) {
        ASSERT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, Server(), 9), ECONNREFUSED);
      }
    });
  }
  IpAddr Server() const { return lab_.Server(Family::kV4); }
};

TEST_F(ProbeLossTest, LostAndReadTogetherAreTheTruthOfEachProxy) {
  StartSmallProbe();
  FakeProxy first(envoy_, lab_.client, {"-c", "x", "--base-id", "1"});
  FakeProxy second(envoy_, lab_.client, {"-c", "x", "--base-id", "2"});
  first.Do("listen v4 0");
  second.Do("listen v4 0");
  ASSERT_TRUE(WaitForProxies(2));
  const BootTime before = SystemClock().Now();
  Consume(before);
  attempts_.clear();
  losses_.clear();
  std::map<uint32_t, uint64_t> done;
  constexpr uint64_t kConnects = 120;
  for (uint64_t i = 0; i < kConnects; ++i) {
    first.Connect(i % 3 == 0 ? "main" : "worker", Family::kV4, Server(), 9);
    if (i % 2 == 0) second.Connect("worker", Family::kV4, Server(), 9);
  }
  RefusedAsApplication(40);
  const BootTime storm_over = SystemClock().Now();
  Consume();
  std::map<ProxyId, uint64_t> truth;
  for (const DiscoveredProxy& proxy : proxies_) {
    truth[proxy.proxy.id] = proxy.process_id == first.pid() ? kConnects : kConnects / 2;
  }
  ASSERT_EQ(truth.size(), 2u);
  std::map<ProxyId, uint64_t> read;
  uint64_t of_applications = 0;
  for (const Attempt& attempt : attempts_) {
    if (attempt.initiator == Initiator::kApplication) {
      ++of_applications;
    } else {
      ++read[attempt.proxy_id];
    }
  }
  std::map<ProxyId, uint64_t> lost = LostAttempts();
  for (const auto& [proxy, count] : truth) {
    EXPECT_GT(lost[proxy], 0u);
    EXPECT_EQ(read[proxy] + lost[proxy], count) << proxy.value();
  }
  EXPECT_EQ(of_applications + lost[ProxyId()], 40u);
  for (const Loss& loss : losses_) {
    EXPECT_FALSE(loss.count_unknown);
    EXPECT_EQ(loss.from, before) << "when the round before began";
    EXPECT_GT(loss.to, before);
    EXPECT_LE(loss.to, storm_over) << "the instant of the last one";
  }
  const RecordBalance attempts = Balance("attempt");
  EXPECT_EQ(attempts.submitted, attempts.read);
  EXPECT_EQ(attempts.read + attempts.lost, kConnects + kConnects / 2 + 40);
  // What the kernel has counted of each process was read, but for what it has counted as lost.
  for (int scan = 1; scan <= 3; ++scan) Consume(storm_over + scan * std::chrono::seconds(11));
  EXPECT_THAT(probe_->Limitations(),
              testing::Not(testing::Contains(testing::HasSubstr("were never read"))));
}

// Losses that happen while a round is being read lie after the round's own instant.
TEST_F(ProbeLossTest, BoundsHoldTheLossAlsoOfARoundThatBeganBeforeIt) {
  StartSmallProbe();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  proxy.Do("listen v4 0");
  ASSERT_TRUE(WaitForProxies(1));
  const BootTime round = SystemClock().Now();
  Consume(round);
  losses_.clear();
  const BootTime began = SystemClock().Now();
  RefusedAsApplication(200);
  const BootTime ended = SystemClock().Now();
  Consume(round);  // a caller that looked at its clock before the storm
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_EQ(losses_[0].from, round);
  EXPECT_GT(losses_[0].to, began);
  EXPECT_LE(losses_[0].to, ended);
}

TEST_F(ProbeLossTest, LossEndsWithTheStorm) {
  StartSmallProbe();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  proxy.Do("listen v4 0");
  ASSERT_TRUE(WaitForProxies(1));
  RefusedAsApplication(200);
  Consume();
  EXPECT_FALSE(losses_.empty());
  losses_.clear();
  attempts_.clear();
  RefusedAsApplication(10);
  Consume();
  EXPECT_TRUE(losses_.empty());
  EXPECT_EQ(attempts_.size(), 10u);
  EXPECT_THAT(probe_->Limitations(),
              testing::Not(testing::Contains(testing::HasSubstr("were read"))));
}

// The kernel's own counts do not depend on anybody reading.
TEST_F(ProbeLossTest, KernelCountsWhatAProxyDidWhenNobodyReads) {
  absl::StatusOr<std::unique_ptr<KernelProbe>> kernel =
      KernelProbe::Load({.ring_bytes = static_cast<uint32_t>(getpagesize())});
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  lab_.client.Shell("ip route add blackhole 10.78.0.0/16");
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  for (int i = 0; i < 100; ++i) proxy.Connect("worker", Family::kV4, Server(), 9);
  for (int i = 0; i < 50; ++i) proxy.Connect("worker", Family::kV4, Server(), 8080);
  for (int i = 0; i < 30; ++i) proxy.Connect("main", Family::kV4, Server(), 8080);
  for (int i = 0; i < 20; ++i) {
    proxy.Connect("worker", Family::kV4, IpAddr::V4(10, 78, 0, 1), 9);
  }
  const auto entry_of = [&](uint32_t pid) {
    for (const FollowedProcess& process : (*kernel)->processes().All()) {
      if (process.process_id == pid) return process.entry;
    }
    return followed_process{};
  };
  followed_process entry = entry_of(proxy.pid());
  EXPECT_EQ(entry.netns_cookie, lab_.client.cookie());
  EXPECT_EQ(entry.others.attempts, 170u);
  EXPECT_EQ(entry.others.established, 50u);
  EXPECT_EQ(entry.main_thread.attempts, 30u);
  EXPECT_EQ(entry.main_thread.established, 30u);
  EXPECT_GT(entry.others.lost, 0u);
  // A process that is killed leaves its connects behind: they are closed after it has ended.
  const uint32_t pid = proxy.pid();
  const IpAddr silent = lab_.Silent(Family::kV4);
  proxy.Tell(fmt::format("abandon v4 {} 80", silent.ToString()));
  ASSERT_TRUE(WaitFor([&] { return entry_of(pid).others.attempts == 171u; }));
  EXPECT_NE(entry_of(pid).ended_ns, 0u);
}

}  // namespace
}  // namespace phantomd
