// Connections that existed before the agent, or before their namespace was watched: established
// ones are no attempts, but their ends are told; an unanswered SYN is an attempt, told once.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <fstream>
#include <memory>
#include <string>

#include "tests/bpf/end_probe_fixture.h"

namespace phantomd {
namespace {

class AdoptionTest : public EndProbeTest, public testing::WithParamInterface<Family> {
 protected:
  Family family() const { return GetParam(); }
  IpAddr Server() const { return lab_.Server(family()); }
  uint16_t Port() const { return family() == Family::kV6 ? 8081 : 8080; }
  void StartEnvoy() {
    proxy_ = std::make_unique<FakeProxy>(envoy_, lab_.client, std::vector<std::string>{"-c", "x"});
    proxy_->Do("listen v4 0");  // it runs
  }

  static uint64_t Cookie(const Fd& fd) {
    uint64_t out = 0;
    socklen_t size = sizeof(out);
    EXPECT_EQ(getsockopt(fd.get(), SOL_SOCKET, SO_COOKIE, &out, &size), 0);
    return out;
  }
  // The only end so far, when it has been told.
  const ConnectionEnd& OnlyEnd() {
    EXPECT_TRUE(WaitFor([&] {
      Consume();
      return !ends_.empty();
    }));
    EXPECT_EQ(ends_.size(), 1u);
    if (ends_.empty()) ends_.emplace_back();
    return ends_.front();
  }
  const Attempt& OnlyAttempt() {
    EXPECT_TRUE(WaitFor([&] {
      Consume();
      return !attempts_.empty();
    }));
    Consume();
    EXPECT_EQ(attempts_.size(), 1u);
    if (attempts_.empty()) attempts_.emplace_back();
    return attempts_.front();
  }

  std::unique_ptr<FakeProxy> proxy_;
};

TEST_P(AdoptionTest, ProxysConnectionIsNoAttemptButItsEndIsTold) {
  StartEnvoy();
  proxy_->Connect("worker", family(), Server(), Port());
  Fd accepted = Accept(family());
  const BootTime before = SystemClock().Now();
  StartProbe();
  const BootTime started = SystemClock().Now();
  Consume();
  EXPECT_TRUE(attempts_.empty());
  Reset(std::move(accepted));
  const ConnectionEnd& end = OnlyEnd();
  EXPECT_EQ(end.how, ConnectionEnd::How::kReset);
  EXPECT_EQ(end.initiator, Initiator::kProxy);
  EXPECT_EQ(end.proxy_id, proxies_.at(0).proxy.id);
  EXPECT_TRUE(end.adopted);
  EXPECT_EQ(end.destination, (SocketAddr{Server(), Port()}));
  EXPECT_EQ(end.cgroup_id, proxies_.at(0).proxy.cgroup_id);
  EXPECT_GE(end.established, before);
  EXPECT_LE(end.established, started);
  EXPECT_TRUE(attempts_.empty());
}

TEST_P(AdoptionTest, ApplicationsConnectionIsAdoptedWhenItsNamespaceIsAdded) {
  ConnectAsApplication(family(), Server(), Port());
  Fd accepted = Accept(family());
  StartProbe();
  StartEnvoy();  // from now on the namespace is watched
  ASSERT_TRUE(WaitForProxies(1));
  Reset(std::move(accepted));
  const ConnectionEnd& end = OnlyEnd();
  EXPECT_EQ(end.how, ConnectionEnd::How::kReset);
  EXPECT_EQ(end.initiator, Initiator::kApplication);
  EXPECT_EQ(end.proxy_id, proxies_.at(0).proxy.id);
  EXPECT_EQ(end.socket_cookie, Cookie(kept_.back()));
  EXPECT_TRUE(end.adopted);
  EXPECT_TRUE(attempts_.empty());
}

// pilot-agent's user and cgroup are the proxy's.
TEST_P(AdoptionTest, PilotAgentsConnectionIsNotTheProxys) {
  StartEnvoy();
  FakeProxy agent(FakeProxy::Installed("pilot-agent"), lab_.client, {"proxy", "sidecar"});
  agent.Connect("worker", family(), Server(), Port());
  Fd accepted = Accept(family());
  StartProbe();
  Reset(std::move(accepted));
  EXPECT_EQ(OnlyEnd().initiator, Initiator::kProxyControl);
}

TEST_P(AdoptionTest, InterceptedAndAcceptedConnectionsAreNobodys) {
  lab_.client.Shell(
      fmt::format("nft add table inet mesh;"
                  "nft 'add chain inet mesh out {{ type nat hook output priority -100; }}';"
                  "nft add rule inet mesh out meta skuid != 1337 tcp dport {} redirect to :15001",
                  Port()));
  StartEnvoy();
  proxy_->Do(fmt::format("listen {} 15001", NameOf(family())));
  ConnectAsApplication(family(), Server(), Port());
  EXPECT_EQ(send(kept_.back().get(), "x", 1, 0), 1);  // unread: the proxy's end will be a reset
  // Somebody else's connection to this namespace.
  Fd listener;
  lab_.client.Run([&] { listener = Listen(family()); });
  Fd guest;
  lab_.server.Run([&] {
    guest = TcpSocket(family(), true);
    EXPECT_EQ(Connect(guest, family(), lab_.Client(family()), LocalPort(listener)), 0);
  });
  // And one that is told, to wait for.
  Fd elsewhere;
  lab_.server.Run([&] { elsewhere = Listen(family(), 9000); });
  ConnectAsApplication(family(), Server(), 9000);
  Fd accepted(accept(elsewhere.get(), nullptr, nullptr));
  StartProbe();
  proxy_.reset();
  Reset(std::move(guest));
  ASSERT_TRUE(WaitFor([&] {
    char byte = 0;
    return recv(kept_.front().get(), &byte, 1, MSG_DONTWAIT) != -1 || errno != EAGAIN;
  }));
  Reset(std::move(accepted));
  EXPECT_EQ(OnlyEnd().socket_cookie, Cookie(kept_.back()));
}

TEST_P(AdoptionTest, UnansweredSynIsAnAttemptToldOnce) {
  StartEnvoy();
  Fd waiting;
  lab_.client.Run([&] {
    waiting = TcpSocket(family(), false);
    EXPECT_EQ(Connect(waiting, family(), lab_.Silent(family()), 80), EINPROGRESS);
  });
  const BootTime sent = SystemClock().Now();
  StartProbe();
  const BootTime started = SystemClock().Now();
  Consume();
  EXPECT_TRUE(attempts_.empty());
  const uint64_t cookie = Cookie(waiting);
  const uint16_t port = LocalPort(waiting);
  waiting.Close();
  const Attempt& attempt = OnlyAttempt();
  EXPECT_EQ(attempt.outcome, Outcome::kAbandoned);
  EXPECT_EQ(attempt.initiator, Initiator::kApplication);
  EXPECT_EQ(attempt.proxy_id, proxies_.at(0).proxy.id);
  EXPECT_TRUE(attempt.adopted);
  EXPECT_EQ(attempt.socket_cookie, cookie);
  EXPECT_EQ(attempt.source, (SocketAddr{lab_.Client(family()), port}));
  EXPECT_EQ(attempt.destination, (SocketAddr{lab_.Silent(family()), 80}));
  EXPECT_GE(attempt.started, sent);
  EXPECT_LE(attempt.started, started);
}

TEST_P(AdoptionTest, ProxysUnansweredSynIsItsAttempt) {
  StartEnvoy();
  proxy_->Tell(
      fmt::format("connect worker {} {} 80", NameOf(family()), lab_.Silent(family()).ToString()));
  // There is one as soon as the kernel lists it.
  ASSERT_TRUE(WaitFor([&] {
    bool found = false;
    lab_.client.Run([&] {
      std::ifstream list(family() == Family::kV4 ? "/proc/thread-self/net/tcp"
                                                 : "/proc/thread-self/net/tcp6");
      for (std::string line; std::getline(list, line);) {
        found |= line.find(" 02 ") != std::string::npos;  // SYN_SENT
      }
    });
    return found;
  }));
  StartProbe();
  proxy_->End();
  const Attempt& attempt = OnlyAttempt();
  EXPECT_EQ(attempt.outcome, Outcome::kAbandoned);
  EXPECT_EQ(attempt.initiator, Initiator::kProxy);
  EXPECT_EQ(attempt.proxy_id, proxies_.at(0).proxy.id);
  EXPECT_TRUE(attempt.adopted);
}

// Health checks: Envoy's main thread polls them, which is all that tells it from its workers.
TEST_P(AdoptionTest, WhatTheMainThreadPollsIsControl) {
  for (const IpAddr& to : {Server(), lab_.Silent(family())}) {
    SCOPED_TRACE(to.ToString());
    StartEnvoy();
    proxy_->Do(fmt::format("poll {} {} {}", NameOf(family()), to.ToString(), Port()));
    ASSERT_TRUE(WaitFor([&] { return ProcReader().PolledByMainThread(proxy_->pid()).ok(); }));
    StartProbe();
    if (to == Server()) {
      Reset(Accept(family()));
      EXPECT_EQ(OnlyEnd().initiator, Initiator::kProxyControl);
      EXPECT_FALSE(ends_.front().proxy_id.empty());
      proxy_.reset();
    } else {
      proxy_->End();
      EXPECT_EQ(OnlyAttempt().initiator, Initiator::kProxyControl);
    }
    probe_.reset();
  }
}

// Answered after the agent began: an attempt, and then a connection whose end is told.
TEST_P(AdoptionTest, AnswerToAnAdoptedSyn) {
  StartEnvoy();
  lab_.server.Shell(
      fmt::format("nft add table inet deaf;"
                  "nft 'add chain inet deaf in {{ type filter hook prerouting priority -300; }}';"
                  "nft add rule inet deaf in tcp dport {} drop",
                  Port()));
  Fd fd;
  lab_.client.Run([&] {
    fd = TcpSocket(family(), false);
    SetOption(fd, IPPROTO_TCP, TCP_SYNCNT, 6);
    EXPECT_EQ(Connect(fd, family(), Server(), Port()), EINPROGRESS);
  });
  StartProbe();
  lab_.server.Shell("nft delete table inet deaf");
  Fd accepted = Accept(family());  // after a retransmission
  Reset(std::move(accepted));
  const Attempt& attempt = OnlyAttempt();
  EXPECT_EQ(attempt.outcome, Outcome::kEstablished);
  EXPECT_EQ(attempt.initiator, Initiator::kApplication);
  EXPECT_GE(attempt.syn_retransmits, 1u);
  EXPECT_TRUE(attempt.adopted);
  const ConnectionEnd& end = OnlyEnd();
  EXPECT_EQ(end.socket_cookie, attempt.socket_cookie);
  EXPECT_EQ(end.how, ConnectionEnd::How::kReset);
  EXPECT_EQ(end.established, attempt.ended);
}

INSTANTIATE_TEST_SUITE_P(Families, AdoptionTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
