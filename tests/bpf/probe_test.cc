// The whole probe with real processes: proxies are found, their first connect included, and every
// connection is given its initiator.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "tests/bpf/probe_fixture.h"

namespace phantomd {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

TEST_F(ProbeTest, FirstConnectOfANewProxyIsSeen) {
  StartProbe();
  const std::string server = lab_.Server(Family::kV4).ToString();
  uint32_t pid = 0;
  {
    FakeProxy proxy(envoy_, lab_.client, {"-c", "/etc/envoy.json"},
                    {.first = fmt::format("v4 {} 9", server)});
    pid = proxy.pid();
    proxy.Do("listen v4 0");  // answered once the first connect is over
  }
  // Nothing has been read so far, and the process is gone.
  ASSERT_TRUE(WaitForProxies(2));
  EXPECT_FALSE(proxies_[0].gone);
  EXPECT_THAT(proxies_[0].proxy.process_ids, testing::ElementsAre(pid));
  EXPECT_TRUE(proxies_[1].gone);
  ASSERT_EQ(attempts_.size(), 1u);
  EXPECT_EQ(attempts_[0].outcome, Outcome::kRefused);
  EXPECT_EQ(attempts_[0].initiator, Initiator::kProxy);
  EXPECT_EQ(attempts_[0].process_id, pid);
  EXPECT_EQ(attempts_[0].proxy_id, proxies_[0].proxy.id);
}

TEST_F(ProbeTest, RunningProxyIsFoundByTheScan) {
  FakeProxy proxy(envoy_, lab_.client,
                  {"--config-path", "/etc/envoy/bootstrap.json", "--base-id", "3"});
  proxy.Do("listen v4 0");
  StartProbe();
  ASSERT_TRUE(WaitForProxies(1));
  const DiscoveredProxy& found = proxies_[0];
  EXPECT_FALSE(found.proxy.id.empty());
  EXPECT_EQ(found.proxy.role, ProxyRole::kStandalone);
  EXPECT_EQ(found.proxy.netns_cookie, lab_.client.cookie());
  EXPECT_EQ(found.bootstrap_path,
            fmt::format("/proc/{}/root/etc/envoy/bootstrap.json", proxy.pid()));
  const uint16_t source = proxy.Connect("worker", Family::kV4, lab_.Server(Family::kV4), 8080);
  EXPECT_EQ(InitiatorOf(source), Initiator::kProxy);
  // The scan and the kernel mean the same cgroup.
  EXPECT_EQ(AttemptFrom(source)->cgroup_id, found.proxy.cgroup_id);
  // Nobody knows what it did before.
  ASSERT_EQ(losses_.size(), 1u);
  EXPECT_TRUE(losses_[0].count_unknown);
}

TEST_F(ProbeTest, EndOfAProxyIsTold) {
  StartProbe();
  {
    FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
    ASSERT_TRUE(WaitForProxies(1));
  }
  ASSERT_TRUE(WaitForProxies(2));
  EXPECT_TRUE(proxies_[1].gone);
  EXPECT_EQ(proxies_[1].proxy.id, proxies_[0].proxy.id);
}

TEST_F(ProbeTest, MainThreadIsControlAndWorkersAreTheProxy) {
  StartProbe();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  FakeProxy agent(FakeProxy::Installed("pilot-agent"), lab_.client, {"proxy", "sidecar"});
  const IpAddr server = lab_.Server(Family::kV4);
  EXPECT_EQ(InitiatorOf(proxy.Connect("main", Family::kV4, server, 8080)),
            Initiator::kProxyControl);
  EXPECT_EQ(InitiatorOf(proxy.Connect("worker", Family::kV4, server, 8080)), Initiator::kProxy);
  EXPECT_EQ(InitiatorOf(agent.Connect("worker", Family::kV4, server, 8080)),
            Initiator::kProxyControl);
  ASSERT_FALSE(proxies_.empty());
  for (const Attempt& attempt : attempts_) EXPECT_EQ(attempt.proxy_id, proxies_[0].proxy.id);
}

class RedirectTest : public ProbeTest, public testing::WithParamInterface<Family> {
 protected:
  void SetUp() override {
    ProbeTest::SetUp();
    // As Istio does it, for port 8080 and 8081 only and for everybody but the proxy.
    lab_.client.Shell(fmt::format(
        "nft add table inet mesh;"
        "nft 'add chain inet mesh out {{ type nat hook output priority -100; }}';"
        "nft add rule inet mesh out meta skuid != {} tcp dport 8080-8081 redirect to :15001",
        FakeProxyOptions::kProxyUid));
    lab_.server.Run([&] { direct_ = Listen(GetParam(), 9000); });  // not redirected
    StartProbe();
  }
};

TEST_P(RedirectTest, RedirectedConnectionIsIntercepted) {
  const Family family = GetParam();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  proxy.Do(fmt::format("listen {} 15001", NameOf(family)));
  // The same source port twice, to be told apart by the handshake alone.
  const uint16_t redirected = ConnectAsApplication(family, lab_.Server(family), 8080, 41000);
  EXPECT_EQ(InitiatorOf(redirected), Initiator::kIntercepted);
  EXPECT_EQ(AttemptFrom(redirected)->destination, (SocketAddr{lab_.Server(family), 8080}));
  attempts_.clear();
  const uint16_t direct = ConnectAsApplication(family, lab_.Server(family), 9000, 41000);
  EXPECT_EQ(InitiatorOf(direct), Initiator::kApplication);
  EXPECT_EQ(AttemptFrom(direct)->proxy_id, proxies_.at(0).proxy.id);
  // Refused by the destination itself: nobody answered for it.
  attempts_.clear();
  lab_.client.Run([&] {
    EXPECT_EQ(Connect(TcpSocket(family, true), family, lab_.Server(family), 9), ECONNREFUSED);
  });
  ASSERT_TRUE(WaitFor([&] {
    Consume();
    return !attempts_.empty();
  }));
  EXPECT_EQ(attempts_[0].initiator, Initiator::kApplication);
}

TEST_P(RedirectTest, ConnectionBackToTheApplicationItselfIsNotIntercepted) {
  const Family family = GetParam();
  const bool v6 = family == Family::kV6;
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  proxy.Do(fmt::format("listen {} 15001", NameOf(family)));
  // A Service's address that leads to the pod that asks.
  lab_.client.Shell(fmt::format("nft add rule inet mesh out {} daddr {} dnat {} to {}",
                                v6 ? "ip6" : "ip", v6 ? "fd77::77" : "10.77.0.77",
                                v6 ? "ip6" : "ip", lab_.Client(family).ToString()));
  Fd own;
  lab_.client.Run([&] { own = Listen(family, 9500); });
  const IpAddr service = *IpAddr::Parse(v6 ? "fd77::77" : "10.77.0.77");
  EXPECT_EQ(InitiatorOf(ConnectAsApplication(family, service, 9500)), Initiator::kApplication);
}

INSTANTIATE_TEST_SUITE_P(Families, RedirectTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

TEST_F(ProbeTest, NothingIsHeldBackAtTheEnd) {
  StartProbe();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  ASSERT_TRUE(WaitForProxies(1));  // its namespace is watched from its exec on, not from its fork
  const uint16_t source = ConnectAsApplication(Family::kV4, lab_.Server(Family::kV4), 8080);
  const BootTime connected = SystemClock().Now();
  Consume(connected);
  EXPECT_EQ(AttemptFrom(source), nullptr);  // somebody may yet have accepted it
  probe_->Finish(connected, [&](ProbeOutput output) { Keep(std::move(output)); });
  ASSERT_NE(AttemptFrom(source), nullptr);
  EXPECT_EQ(AttemptFrom(source)->initiator, Initiator::kApplication);
}

TEST_F(ProbeTest, NamespaceOfAFalseProxyIsForgotten) {
  StartProbe();
  FakeProxy gateway(FakeProxy::Installed("envoy-gateway"), lab_.client, {"server"});
  const IpAddr server = lab_.Server(Family::kV4);
  gateway.Connect("worker", Family::kV4, server, 9);
  Consume();
  EXPECT_TRUE(proxies_.empty());
  const BootTime now = SystemClock().Now();
  Consume(now + std::chrono::seconds(11));
  Consume(now + std::chrono::seconds(80));
  attempts_.clear();
  gateway.Connect("worker", Family::kV4, server, 9);
  Consume(now + std::chrono::seconds(81));
  EXPECT_TRUE(attempts_.empty());
}

// The host's own namespace holds far more than the proxies: there they are told by their processes,
// and by their cgroups where these are known.
class HostNetworkTest : public ProbeTest {
 protected:
  ProbeOptions Options() const {
    ProbeOptions options;
    options.kernel.host_netns_cookie = lab_.client.cookie();  // stands for the host's
    return options;
  }
};

TEST_F(HostNetworkTest, OnlyProxiesAreRecorded) {
  for (const char* cgroup2_root : {"", "/nonexistent"}) {
    attempts_.clear();
    proxies_.clear();
    FakeProxy before(envoy_, lab_.client, {"-c", "x", "--disable-hot-restart"});
    before.Do("listen v4 0");
    ProbeOptions options = Options();
    options.discovery.cgroup2_root = cgroup2_root;
    StartProbe(options);
    FakeProxy after(envoy_, lab_.client, {"-c", "y", "--disable-hot-restart"});
    FakeProxy other(FakeProxy::Installed("envoy-gateway"), lab_.client, {"server"});
    ASSERT_TRUE(WaitForProxies(2));
    const IpAddr server = lab_.Server(Family::kV4);
    const uint16_t of_other = other.Connect("worker", Family::kV4, server, 8080);
    const uint16_t of_test = ConnectAsApplication(Family::kV4, server, 8080);
    for (FakeProxy* proxy : {&before, &after}) {
      const uint16_t source = proxy->Connect("worker", Family::kV4, server, 8080);
      EXPECT_EQ(InitiatorOf(source), Initiator::kProxy);
      EXPECT_EQ(AttemptFrom(source)->process_id, proxy->pid());
    }
    EXPECT_EQ(AttemptFrom(of_other), nullptr);
    EXPECT_EQ(AttemptFrom(of_test), nullptr);
    EXPECT_THAT(probe_->Limitations(), Not(Contains(HasSubstr("cgroup"))));
  }
}

}  // namespace
}  // namespace phantomd
