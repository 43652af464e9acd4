// The outcome table, where a connection opens in an unusual way: TCP Fast Open, a simultaneous
// open, a socket that meets itself.
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "tests/bpf/outcome_fixture.h"

namespace phantomd {
namespace {

class FastOpenTest : public OutcomeTest {
 protected:
  // Data goes out with the SYN and is taken with it, without the cookie that would need an earlier
  // connection.
  void SetUp() override {
    lab_->client.Shell("sysctl -qw net.ipv4.tcp_fastopen=5");
    lab_->server.Shell("sysctl -qw net.ipv4.tcp_fastopen=514");
    for (const Fd* listener : {listener_v4_, listener_v6_}) {
      SetOption(*listener, IPPROTO_TCP, TCP_FASTOPEN, 16);
    }
  }
  void TearDown() override {
    lab_->client.Shell("sysctl -qw net.ipv4.tcp_fastopen=0");
    lab_->server.Shell("sysctl -qw net.ipv4.tcp_fastopen=0");
  }

  Fd Socket(bool blocking) const {
    Fd fd = TcpSocket(family(), blocking);
    SetOption(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1);
    return fd;
  }
  static bool DataWentWithSyn(const Fd& fd) {
    tcp_info info{};
    socklen_t size = sizeof(info);
    PHANTOMD_CHECK(getsockopt(fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
    return info.tcpi_options & TCPI_OPT_SYN_DATA;
  }
  static int Write(const Fd& fd) { return write(fd.get(), "x", 1) == 1 ? 0 : errno; }
  int SendWithSyn(const Fd& fd, const IpAddr& ip, uint16_t port) const {
    const SocketAddress to = ToSockaddr(family(), ip, port);
    return sendto(fd.get(), "x", 1, MSG_FASTOPEN, to.get(), to.size) == 1 ? 0 : errno;
  }
};

TEST_P(FastOpenTest, EstablishedAtTheFirstWrite) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  for (const bool blocking : {true, false}) {
    const char* what = blocking ? "TCP_FASTOPEN_CONNECT, established, blocking"
                                : "TCP_FASTOPEN_CONNECT, established, non-blocking";
    Check(what, ip, port, {Outcome::kEstablished}, [&] {
      Fd fd = Socket(blocking);
      EXPECT_EQ(Connect(fd, family(), ip, port), 0);
      EXPECT_EQ(Write(fd), 0);
      WaitConnected(fd);
      EXPECT_TRUE(DataWentWithSyn(fd));
    });
  }
}

TEST_P(FastOpenTest, RefusedAtTheFirstWrite) {
  const IpAddr ip = lab_->Server(family());
  Check("TCP_FASTOPEN_CONNECT, refused", ip, 9, {Outcome::kRefused, ECONNREFUSED}, [&] {
    Fd fd = Socket(true);
    EXPECT_EQ(Connect(fd, family(), ip, 9), 0);
    EXPECT_EQ(Write(fd), ECONNREFUSED);
  });
}

TEST_P(FastOpenTest, AbandonedAfterTheFirstWrite) {
  const IpAddr ip = lab_->Silent(family());
  Check("TCP_FASTOPEN_CONNECT, abandoned", ip, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = Socket(false);
    EXPECT_EQ(Connect(fd, family(), ip, 80), 0);
    Write(fd);  // the data goes with the SYN, or the call says that it is in progress
  });
}

// connect(2) has said yes, but no SYN ever left.
TEST_P(FastOpenTest, NothingWrittenIsNoAttempt) {
  const IpAddr ip = lab_->Server(family());
  CheckAll("TCP_FASTOPEN_CONNECT, nothing written", ip, 80, {}, [&] {
    Fd fd = Socket(true);
    EXPECT_EQ(Connect(fd, family(), ip, 80), 0);
  });
}

TEST_P(FastOpenTest, SendtoOpens) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  Check("MSG_FASTOPEN, established", ip, port, {Outcome::kEstablished}, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(SendWithSyn(fd, ip, port), 0);
    WaitConnected(fd);
    EXPECT_TRUE(DataWentWithSyn(fd));
  });
  Check("MSG_FASTOPEN, refused", ip, 9, {Outcome::kRefused, ECONNREFUSED}, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(SendWithSyn(fd, ip, 9), ECONNREFUSED);
  });
}

INSTANTIATE_TEST_SUITE_P(Families, FastOpenTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

class MeetingTest : public OutcomeTest {
 protected:
  static Fd Bound(Family family, const IpAddr& ip, uint16_t port) {
    Fd fd = TcpSocket(family, false);
    SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    const SocketAddress from = ToSockaddr(family, ip, port);
    PHANTOMD_CHECK(bind(fd.get(), from.get(), from.size) == 0);
    return fd;
  }
  bool v6() const { return family() == Family::kV6; }
};

// The client's SYN is lost; the server's, on its way to the same pair of ports, meets the client's
// socket in SYN_SENT.
TEST_P(MeetingTest, SimultaneousOpen) {
  const IpAddr ip = lab_->Server(family());
  const IpAddr own = lab_->Client(family());
  lab_->server.Shell(
      "nft add table inet meeting;"
      "nft 'add chain inet meeting in { type filter hook prerouting priority -300; }';"
      "nft 'add rule inet meeting in tcp dport 7500 tcp flags & (syn | ack) == syn drop'");
  Check("simultaneous open", ip, 7500, {Outcome::kEstablished}, [&] {
    Fd client = Bound(family(), own, 7400);
    EXPECT_EQ(Connect(client, family(), ip, 7500), EINPROGRESS);
    Fd server;
    lab_->server.Run([&] {
      server = Bound(family(), ip, 7500);
      EXPECT_EQ(Connect(server, family(), own, 7400), EINPROGRESS);
      WaitConnected(server);
    });
    WaitConnected(client);
    EXPECT_EQ(PendingError(client), 0);
  });
  lab_->server.Shell("nft delete table inet meeting");
}

// The server sends the SYN back as if it came from its destination: the socket connects to itself.
TEST_P(MeetingTest, SelfConnectThroughTheNetwork) {
  const IpAddr elsewhere = *IpAddr::Parse(v6() ? "fd77:8::8" : "10.77.8.8");
  const IpAddr own = lab_->Client(family());
  const char* ip = v6() ? "ip6" : "ip";
  lab_->client.Shell(v6() ? "ip -6 route add fd77:8::/64 via fd77::1"
                          : "ip route add 10.77.8.0/24 via 10.77.0.1");
  lab_->server.Shell(
      fmt::format("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 "
                  "net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.v1.rp_filter=0;"
                  "nft add table inet mirror;"
                  "nft 'add chain inet mirror in {{ type filter hook prerouting priority -300; }}';"
                  "nft add rule inet mirror in {0} daddr {1} {0} saddr set {1} {0} daddr set {2}",
                  ip, elsewhere.ToString(), own.ToString()));
  Check("self-connect through the network", elsewhere, 7600, {Outcome::kEstablished}, [&] {
    Fd fd = Bound(family(), own, 7600);
    EXPECT_EQ(Connect(fd, family(), elsewhere, 7600), EINPROGRESS);
    WaitConnected(fd);
    EXPECT_EQ(PendingError(fd), 0);
    EXPECT_EQ(write(fd.get(), "x", 1), 1);
    char byte = 0;
    EXPECT_EQ(recv(fd.get(), &byte, 1, 0), 1);
  });
  lab_->server.Shell(
      "nft delete table inet mirror;"
      "sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0");
  lab_->client.Shell(v6() ? "ip -6 route del fd77:8::/64" : "ip route del 10.77.8.0/24");
}

// It never leaves the pod.
TEST_P(MeetingTest, SelfConnectToTheOwnAddressIsNoAttempt) {
  const IpAddr own = lab_->Client(family());
  CheckAll("self-connect to the own address", own, 7700, {}, [&] {
    Fd fd = Bound(family(), own, 7700);
    EXPECT_EQ(Connect(fd, family(), own, 7700), EINPROGRESS);
    WaitConnected(fd);
    EXPECT_EQ(PendingError(fd), 0);
  });
}

INSTANTIATE_TEST_SUITE_P(Families, MeetingTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
