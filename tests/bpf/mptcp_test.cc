// The outcome table over MPTCP sockets: the first subflow is the attempt, the others are not.
#include <linux/mptcp.h>
#include <netinet/in.h>

#include <cstring>

#include "tests/bpf/outcome_fixture.h"

namespace phantomd {
namespace {

class MptcpTest : public OutcomeTest {
 protected:
  void SetUp() override {
    const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_MPTCP));
    if (fd.get() < 0) GTEST_SKIP() << "this kernel has no MPTCP: " << std::strerror(errno);
    lab_->server.Run([&] {
      listener_ = Socket(true);
      const SocketAddress any =
          ToSockaddr(family(), family() == Family::kMapped ? IpAddr::V4(0, 0, 0, 0) : IpAddr(), 0);
      ASSERT_EQ(bind(listener_.get(), any.get(), any.size), 0);
      ASSERT_EQ(listen(listener_.get(), 16), 0);
    });
  }

  Fd Socket(bool blocking) const {
    const int domain = family() == Family::kV4 ? AF_INET : AF_INET6;
    Fd fd(
        socket(domain, SOCK_STREAM | SOCK_CLOEXEC | (blocking ? 0 : SOCK_NONBLOCK), IPPROTO_MPTCP));
    PHANTOMD_CHECK(fd.get() >= 0);
    return fd;
  }

  Fd listener_;
};

TEST_P(MptcpTest, Established) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = LocalPort(listener_);
  for (const bool blocking : {true, false}) {
    const char* what =
        blocking ? "MPTCP, established, blocking" : "MPTCP, established, non-blocking";
    Check(what, ip, port, {Outcome::kEstablished}, [&] {
      Fd fd = Socket(blocking);
      EXPECT_EQ(Connect(fd, family(), ip, port), blocking ? 0 : EINPROGRESS);
      WaitConnected(fd);
    });
  }
}

TEST_P(MptcpTest, PeerWithoutMptcp) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  Check("MPTCP, to a TCP listener", ip, port, {Outcome::kEstablished},
        [&] { EXPECT_EQ(Connect(Socket(true), family(), ip, port), 0); });
}

TEST_P(MptcpTest, Refused) {
  const IpAddr ip = lab_->Server(family());
  Check("MPTCP, refused", ip, 9, {Outcome::kRefused, ECONNREFUSED},
        [&] { EXPECT_EQ(Connect(Socket(true), family(), ip, 9), ECONNREFUSED); });
}

TEST_P(MptcpTest, Abandoned) {
  const IpAddr ip = lab_->Silent(family());
  Check("MPTCP, abandoned", ip, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = Socket(false);
    EXPECT_EQ(Connect(fd, family(), ip, 80), EINPROGRESS);
  });
}

TEST_P(MptcpTest, NoRoute) {
  const IpAddr ip = *IpAddr::Parse(family() == Family::kV6 ? "fd99::1" : "192.0.2.1");
  for (const bool blocking : {true, false}) {
    const char* what = blocking ? "MPTCP, no route, blocking" : "MPTCP, no route, non-blocking";
    Check(what, ip, 80, {Outcome::kNoRoute, ENETUNREACH},
          [&] { EXPECT_EQ(Connect(Socket(blocking), family(), ip, 80), ENETUNREACH); });
  }
}

// The kernel connects a second subflow by itself, from the client's other address.
TEST_P(MptcpTest, FurtherSubflowIsNoAttempt) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = LocalPort(listener_);
  const bool v6 = family() == Family::kV6;
  lab_->client.Shell(fmt::format(
      "ip addr add {0} dev v0 {1};"
      "ip mptcp limits set subflow 1 add_addr_accepted 0;"
      "ip mptcp endpoint add {2} dev v0 subflow",
      v6 ? "fd77::22/64" : "10.77.0.22/24", v6 ? "nodad" : "", v6 ? "fd77::22" : "10.77.0.22"));
  lab_->server.Shell("ip mptcp limits set subflow 1 add_addr_accepted 0");
  Check("MPTCP, a second subflow", ip, port, {Outcome::kEstablished}, [&] {
    Fd fd = Socket(true);
    const SocketAddress from = ToSockaddr(family(), lab_->Client(family()), 0);
    EXPECT_EQ(bind(fd.get(), from.get(), from.size), 0);
    EXPECT_EQ(Connect(fd, family(), ip, port), 0);
    Fd accepted;
    lab_->server.Run([&] { accepted = Fd(accept(listener_.get(), nullptr, nullptr)); });
    EXPECT_TRUE(WaitFor([&] {
      // The handshake is fully known to the kernel once data has gone to and fro.
      char byte = 1;
      EXPECT_EQ(send(fd.get(), &byte, 1, 0), 1);
      EXPECT_EQ(recv(accepted.get(), &byte, 1, 0), 1);
      mptcp_info info{};
      socklen_t size = sizeof(info);
      EXPECT_EQ(getsockopt(fd.get(), SOL_MPTCP, MPTCP_INFO, &info, &size), 0);
      return info.mptcpi_subflows == 1;
    }));
  });
  lab_->client.Shell(fmt::format("ip mptcp endpoint flush; ip addr del {} dev v0",
                                 v6 ? "fd77::22/64" : "10.77.0.22/24"));
}

INSTANTIATE_TEST_SUITE_P(Families, MptcpTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
