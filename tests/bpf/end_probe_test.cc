// The ends of connections, as the whole probe tells them: whose each was, or nothing where they are
// nobody's.
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <optional>

#include "agent/base/check.h"
#include "tests/bpf/probe_fixture.h"

namespace phantomd {
namespace {

class EndProbeTest : public ProbeTest {
 protected:
  void Keep(ProbeOutput output) override {
    if (const auto* end = std::get_if<ConnectionEnd>(&output)) {
      if (end->netns_cookie == lab_.client.cookie()) ends_.push_back(*end);
    }
    ProbeTest::Keep(std::move(output));
  }

  static void Reset(Fd fd) {
    const linger reset{1, 0};
    PHANTOMD_CHECK(setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0);
    fd.Close();
  }
  void ResetAccepted() { Reset(Fd(accept(server_v4_.get(), nullptr, nullptr))); }

  // The end of the connection whose attempt came from that port.
  const ConnectionEnd* EndOf(uint16_t source_port) {
    const Attempt* attempt = AttemptFrom(source_port);
    if (attempt == nullptr) return nullptr;
    const auto end = std::find_if(ends_.begin(), ends_.end(), [&](const ConnectionEnd& e) {
      return e.socket_cookie == attempt->socket_cookie;
    });
    return end == ends_.end() ? nullptr : &*end;
  }
  const ConnectionEnd* WaitForEndOf(uint16_t source_port) {
    EXPECT_TRUE(WaitFor([&] {
      Consume();
      return EndOf(source_port) != nullptr;
    }));
    return EndOf(source_port);
  }

  std::vector<ConnectionEnd> ends_;
};

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
