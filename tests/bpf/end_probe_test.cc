// The ends of connections, as the whole probe tells them: whose each was, or nothing where they are
// nobody's.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <optional>

#include "tests/bpf/end_probe_fixture.h"

namespace phantomd {
namespace {

TEST_F(EndProbeTest, EachEndIsThatOfItsAttempt) {
  StartProbe();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  const IpAddr server = lab_.Server(Family::kV4);
  const uint16_t worker = proxy.Connect("worker", Family::kV4, server, 8080);
  ResetAccepted();
  const uint16_t main = proxy.Connect("main", Family::kV4, server, 8080);
  ResetAccepted();
  const uint16_t application = ConnectAsApplication(Family::kV4, server, 8080);
  ResetAccepted();
  for (const auto& [port, initiator] :
       {std::pair(worker, Initiator::kProxy), std::pair(main, Initiator::kProxyControl),
        std::pair(application, Initiator::kApplication)}) {
    const ConnectionEnd* end = WaitForEndOf(port);
    ASSERT_NE(end, nullptr);
    const Attempt& attempt = *AttemptFrom(port);
    EXPECT_EQ(end->how, ConnectionEnd::How::kReset);
    EXPECT_EQ(end->initiator, initiator);
    EXPECT_EQ(end->proxy_id, attempt.proxy_id);
    EXPECT_EQ(end->process_id, attempt.process_id);
    EXPECT_EQ(end->thread_id, attempt.thread_id);
    EXPECT_EQ(end->cgroup_id, attempt.cgroup_id);
    EXPECT_EQ(end->destination, attempt.destination);
    EXPECT_EQ(end->established, attempt.ended);
  }
  EXPECT_EQ(ends_.size(), 3u);
  EXPECT_FALSE(proxies_.empty() || proxies_[0].proxy.id.empty());
}

// It never left the pod: the proxy answered it, and resets what it has not read when it is killed.
TEST_F(EndProbeTest, EndOfAnInterceptedConnectionIsNobodys) {
  lab_.client.Shell(
      "nft add table inet mesh;"
      "nft 'add chain inet mesh out { type nat hook output priority -100; }';"
      "nft add rule inet mesh out meta skuid != 1337 tcp dport 8080 redirect to :15001");
  StartProbe();
  std::optional<FakeProxy> proxy(std::in_place, envoy_, lab_.client,
                                 std::vector<std::string>{"-c", "x"});
  proxy->Do("listen v4 15001");
  const uint16_t intercepted = ConnectAsApplication(Family::kV4, lab_.Server(Family::kV4), 8080);
  EXPECT_EQ(InitiatorOf(intercepted), Initiator::kIntercepted);
  EXPECT_EQ(send(kept_.back().get(), "x", 1, 0), 1);
  // Beside it one that is told, so that there is something to wait for.
  Fd listener;
  lab_.server.Run([&] { listener = Listen(Family::kV4, 9000); });
  const uint16_t direct = ConnectAsApplication(Family::kV4, lab_.Server(Family::kV4), 9000);
  Reset(Fd(accept(listener.get(), nullptr, nullptr)));
  proxy.reset();
  ASSERT_TRUE(WaitFor([&] {
    tcp_info info{};
    socklen_t size = sizeof(info);
    EXPECT_EQ(getsockopt(kept_.front().get(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
    return info.tcpi_state != TCP_ESTABLISHED;
  }));
  EXPECT_NE(WaitForEndOf(direct), nullptr);
  Consume();
  EXPECT_EQ(EndOf(intercepted), nullptr);
  EXPECT_EQ(ends_.size(), 1u);
}

}  // namespace
}  // namespace phantomd
