// ztunnel: one process in a pod of its own, whose sockets are in the namespaces of the pods that it
// serves. It enters such a namespace, makes a socket there and leaves again.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <optional>

#include "tests/bpf/probe_fixture.h"

namespace phantomd {
namespace {

constexpr uint32_t kZtunnelUid = 0;
constexpr uint16_t kOutbound = 15001;

// The client's namespace is the pod's; ztunnel lives in another one.
class ZtunnelTest : public ProbeTest {
 protected:
  void SetUp() override {
    ProbeTest::SetUp();
    // What the pod's processes open to port 8080 goes to ztunnel, as in a pod of an ambient mesh.
    // Sockets of ztunnel's bear a mark there; in this lab it connects to other ports.
    lab_.client.Shell(
        fmt::format("nft add table inet mesh;"
                    "nft 'add chain inet mesh out {{ type nat hook output priority -100; }}';"
                    "nft add rule inet mesh out tcp dport 8080 redirect to :{}",
                    kOutbound));
  }

  void StartZtunnel() {
    ztunnel_.emplace(FakeProxy::Installed("ztunnel"), home_, std::vector<std::string>{"proxy"},
                     FakeProxyOptions{.uid = kZtunnelUid});
    ztunnel_->Do("listen v4 0");  // it is up
  }

  bool WaitForZtunnel() {
    return WaitFor([&] {
      Consume();
      return !ZtunnelId().empty();
    });
  }

  void Keep(ProbeOutput output) override {
    if (const auto* proxy = std::get_if<DiscoveredProxy>(&output)) {
      if (proxy->proxy.netns_cookie == home_.cookie()) ztunnels_.push_back(*proxy);
    }
    ProbeTest::Keep(std::move(output));
  }
  ProxyId ZtunnelId() const { return ztunnels_.empty() ? ProxyId() : ztunnels_[0].proxy.id; }

  uint16_t Refused() { return ztunnel_->ConnectIn(lab_.client, Family::kV4, Server(), 9); }
  IpAddr Server() const { return lab_.Server(Family::kV4); }

  NetworkNamespace home_;
  std::optional<FakeProxy> ztunnel_;
  std::vector<DiscoveredProxy> ztunnels_;
};

TEST_F(ZtunnelTest, ItsConnectsInAPodsNamespaceAreItsOwnFromTheFirstOn) {
  StartProbe();
  StartZtunnel();
  // Nothing has been read so far: the kernel itself must have watched the namespace.
  const uint16_t first = Refused();
  const uint16_t second = Refused();
  ASSERT_TRUE(WaitForZtunnel());
  EXPECT_EQ(ztunnels_[0].proxy.role, ProxyRole::kZtunnel);
  for (const uint16_t source : {first, second}) {
    EXPECT_EQ(InitiatorOf(source), Initiator::kProxy);
    const Attempt* attempt = AttemptFrom(source);
    ASSERT_NE(attempt, nullptr);
    EXPECT_EQ(attempt->proxy_id, ZtunnelId());
    EXPECT_EQ(attempt->netns_cookie, lab_.client.cookie());
    EXPECT_EQ(attempt->source.ip, lab_.Client(Family::kV4));
    EXPECT_EQ(attempt->process_id, ztunnel_->pid());
    EXPECT_EQ(attempt->outcome, Outcome::kRefused);
  }
  EXPECT_EQ(attempts_.size(), 2u);
}

TEST_F(ZtunnelTest, FirstConnectThatFindsNoRouteIsSeenToo) {
  lab_.client.Shell("ip route add blackhole 10.78.0.0/16");
  StartProbe();
  StartZtunnel();
  ztunnel_->ConnectIn(lab_.client, Family::kV4, IpAddr::V4(10, 78, 0, 1), 9);
  ASSERT_TRUE(WaitFor([&] {
    Consume();
    return !attempts_.empty();
  }));
  EXPECT_EQ(attempts_[0].outcome, Outcome::kNoRoute);
  EXPECT_EQ(attempts_[0].initiator, Initiator::kProxy);
  EXPECT_EQ(attempts_[0].proxy_id, ZtunnelId());
}

TEST_F(ZtunnelTest, ApplicationsOfItsPodsAreSeenFromItsListeningOn) {
  StartProbe();
  StartZtunnel();
  ztunnel_->ListenIn(lab_.client, Family::kV4, kOutbound);
  lab_.server.Run([&] { direct_ = Listen(Family::kV4, 9000); });
  const uint16_t redirected = ConnectAsApplication(Family::kV4, Server(), 8080);
  const uint16_t direct = ConnectAsApplication(Family::kV4, Server(), 9000);
  EXPECT_EQ(InitiatorOf(redirected), Initiator::kIntercepted);
  EXPECT_EQ(InitiatorOf(direct), Initiator::kApplication);
  for (const uint16_t source : {redirected, direct}) {
    EXPECT_EQ(AttemptFrom(source)->proxy_id, ZtunnelId());
  }
}

TEST_F(ZtunnelTest, SocketsMadeBeforeTheAgentTellWhomItServes) {
  StartZtunnel();
  ztunnel_->ListenIn(lab_.client, Family::kV4, kOutbound);
  StartProbe();
  lab_.server.Run([&] { direct_ = Listen(Family::kV4, 9000); });
  const uint16_t redirected = ConnectAsApplication(Family::kV4, Server(), 8080);
  const uint16_t direct = ConnectAsApplication(Family::kV4, Server(), 9000);
  EXPECT_EQ(InitiatorOf(redirected), Initiator::kIntercepted);
  EXPECT_EQ(InitiatorOf(direct), Initiator::kApplication);
  EXPECT_EQ(AttemptFrom(direct)->proxy_id, ZtunnelId());
}

// A namespace of a served pod is watched as long as ztunnel has a socket there, used or not.
TEST_F(ZtunnelTest, ServedNamespaceIsWatchedUntilItsSocketsAreClosed) {
  StartProbe();
  StartZtunnel();
  ztunnel_->ListenIn(lab_.client, Family::kV4, kOutbound);
  ASSERT_TRUE(WaitForZtunnel());
  const auto application_is_seen = [&] {
    attempts_.clear();
    lab_.client.Run([&] {
      EXPECT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, Server(), 9), ECONNREFUSED);
    });
    Consume(now_);
    return !attempts_.empty();
  };
  const auto pass = [&](int seconds) {
    for (int passed = 0; passed < seconds; passed += 11) {
      now_ = now_ + std::chrono::seconds(11);
      Consume(now_);
    }
  };
  now_ = SystemClock().Now();
  pass(600);
  EXPECT_TRUE(application_is_seen());
  ztunnel_->Do("forget");
  pass(100);
  EXPECT_TRUE(application_is_seen()) << "it may come back at once";
  pass(100);
  EXPECT_FALSE(application_is_seen());
  // Its next socket there brings the namespace back.
  attempts_.clear();
  Refused();
  Consume(now_);
  EXPECT_EQ(attempts_.size(), 1u);
  EXPECT_TRUE(application_is_seen());
}

TEST_F(ZtunnelTest, ServedNamespaceIsForgottenAMinuteAfterItsEnd) {
  StartProbe();
  StartZtunnel();
  ztunnel_->ListenIn(lab_.client, Family::kV4, kOutbound);
  ASSERT_TRUE(WaitForZtunnel());
  ztunnel_->End();
  now_ = SystemClock().Now();
  for (int i = 0; i < 10; ++i) {
    now_ = now_ + std::chrono::seconds(11);
    Consume(now_);
  }
  attempts_.clear();
  lab_.client.Run([&] {
    EXPECT_EQ(Connect(TcpSocket(Family::kV4, true), Family::kV4, Server(), 9), ECONNREFUSED);
  });
  Consume(now_);
  EXPECT_TRUE(attempts_.empty());
}

// Everybody else who enters a namespace stays unseen there.
TEST_F(ZtunnelTest, ProcessThatIsNoProxyIsNotFollowedIntoANamespace) {
  StartProbe();
  FakeProxy other(FakeProxy::Installed("envoy-gateway"), home_, {"server"}, {.uid = kZtunnelUid});
  other.Do("listen v4 0");
  Consume();  // its name has deceived, which is known from here on
  other.ConnectIn(lab_.client, Family::kV4, Server(), 9);
  Consume();
  EXPECT_TRUE(attempts_.empty());
}

}  // namespace
}  // namespace phantomd
