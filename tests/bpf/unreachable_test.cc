// The outcome table, where the network or the own host refuses: ICMP errors, missing neighbours and
// routes.
#include <linux/icmp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "tests/bpf/outcome_fixture.h"

namespace phantomd {
namespace {

// While it lives, the server's namespace answers SYNs to `port` by an ICMP error.
class ServerReject {
 public:
  ServerReject(const NetworkLab& lab, uint16_t port, Family family, const char* v4, const char* v6)
      : lab_(lab) {
    const bool is_v6 = family == Family::kV6;
    lab_.server.Shell(
        fmt::format("nft add table inet answers;"
                    "nft 'add chain inet answers in {{ type filter hook input priority 0; }}';"
                    "nft add rule inet answers in tcp dport {} reject with {} type {}",
                    port, is_v6 ? "icmpv6" : "icmp", is_v6 ? v6 : v4));
  }
  ~ServerReject() { lab_.server.Shell("nft delete table inet answers"); }

 private:
  const NetworkLab& lab_;
};

struct IcmpRow {
  const char* name;
  const char* v4;  // as nft calls them
  const char* v6;
  int v4_code;
  int v4_error;
  int v6_error;
};

constexpr IcmpRow kIcmpRows[] = {
    {"host", "host-unreachable", "addr-unreachable", 1, EHOSTUNREACH, EHOSTUNREACH},
    {"net", "net-unreachable", "no-route", 0, ENETUNREACH, ENETUNREACH},
    {"port", "port-unreachable", "port-unreachable", 3, ECONNREFUSED, ECONNREFUSED},
    {"admin", "admin-prohibited", "admin-prohibited", 13, EHOSTUNREACH, EACCES},
};

class UnreachableTest : public OutcomeTest {
 protected:
  // The kernel does not tell the type of an ICMPv6 error.
  Expected Unreachable(const IcmpRow& row, int64_t retransmits) const {
    if (family() == Family::kV6) return {Outcome::kUnreachable, row.v6_error, 0, 0, retransmits};
    return {Outcome::kUnreachable, row.v4_error, ICMP_DEST_UNREACH, uint32_t(row.v4_code),
            retransmits};
  }
  Expected HostUnreachable(int64_t retransmits) const {
    return Unreachable(kIcmpRows[0], retransmits);
  }
};

// What the server answers to a SYN, by nft; the reject reaches the client while connect(2) still
// runs, because the veth delivers it on the same CPU.
TEST_P(UnreachableTest, UnreachableInsideConnect) {
  const IpAddr ip = lab_->Server(family());
  for (const IcmpRow& row : kIcmpRows) {
    const ServerReject reject(*lab_, 7001, family(), row.v4, row.v6);
    Check(fmt::format("ICMP {} inside connect, then closed", row.name), ip, 7001,
          Unreachable(row, 0), [&] {
            Fd fd = TcpSocket(family(), false);
            EXPECT_EQ(Connect(fd, family(), ip, 7001), EINPROGRESS);
          });
  }
}

// The second SYN is answered when nobody holds the socket: the kernel ends the attempt itself, and
// a connect(2) that waits returns the error that the record already holds.
TEST_P(UnreachableTest, UnreachableAfterConnect) {
  const IpAddr ip = lab_->Server(family());
  for (const IcmpRow& row : kIcmpRows) {
    const ServerReject reject(*lab_, 7003, family(), row.v4, row.v6);
    const Expected expected = Unreachable(row, 1);
    Check(fmt::format("ICMP {} after connect, blocking", row.name), ip, 7003, expected, [&] {
      Fd fd = TcpSocket(family(), true);
      EXPECT_EQ(Connect(fd, family(), ip, 7003), expected.error_number);
    });
  }
}

TEST_P(UnreachableTest, UnreachableAfterConnectReturned) {
  const IpAddr ip = lab_->Server(family());
  // The first SYN is lost, so that nothing comes back before connect(2) has returned.
  const char* quota =
      "nft add table inet first;"
      "nft 'add chain inet first in { type filter hook prerouting priority -300; }';"
      "nft 'add rule inet first in tcp dport 7005 limit rate 1/day burst 1 packets drop'";
  for (const IcmpRow& row : kIcmpRows) {
    const ServerReject reject(*lab_, 7005, family(), row.v4, row.v6);
    lab_->server.Shell(quota);
    const Expected expected = Unreachable(row, 1);
    Check(fmt::format("ICMP {} after connect returned", row.name), ip, 7005, expected, [&] {
      Fd fd = TcpSocket(family(), false);
      EXPECT_EQ(Connect(fd, family(), ip, 7005), EINPROGRESS);
      // The socket is readable as soon as the ICMP is queued, a moment before its error is set.
      int error = 0;
      EXPECT_TRUE(WaitFor([&] { return (error = PendingError(fd)) != 0; }));
      EXPECT_EQ(error, expected.error_number);
    });
    lab_->server.Shell("nft delete table inet first");
  }
}

TEST_P(UnreachableTest, UnreachableInsideConnectReadByCaller) {
  if (family() == Family::kV6) {
    // An ICMPv6 error inside connect(2) leaves nothing but sk_err_soft, which this read clears: the
    // kernel keeps no trace of it, and the caller is seen to give up.
    const ServerReject reject(*lab_, 7002, family(), "host-unreachable", "addr-unreachable");
    const IpAddr ip = lab_->Server(family());
    Check("ICMP inside connect, SO_ERROR read", ip, 7002, {Outcome::kAbandoned}, [&] {
      Fd fd = TcpSocket(family(), false);
      EXPECT_EQ(Connect(fd, family(), ip, 7002), EINPROGRESS);
      EXPECT_EQ(PendingError(fd), EHOSTUNREACH);
    });
    return;
  }
  const ServerReject reject(*lab_, 7002, family(), "host-unreachable", "addr-unreachable");
  const IpAddr ip = lab_->Server(family());
  Check("ICMP inside connect, SO_ERROR read", ip, 7002, HostUnreachable(0), [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, 7002), EINPROGRESS);
    EXPECT_EQ(PendingError(fd), EHOSTUNREACH);
  });
}

// Three unanswered neighbour requests, one a second.
TEST_P(UnreachableTest, UnreachableNeighbour) {
  const IpAddr ip = lab_->Absent(family());
  Expected expected{Outcome::kUnreachable, EHOSTUNREACH, 0, 0, -1};
  if (family() != Family::kV6) expected.icmp_type = 3, expected.icmp_code = 1;
  Check("no such neighbour", ip, 80, expected, [&] {
    Fd fd = TcpSocket(family(), true);
    SetOption(fd, IPPROTO_TCP, TCP_SYNCNT, 6);
    EXPECT_EQ(Connect(fd, family(), ip, 80), EHOSTUNREACH);
  });
}

struct RouteRow {
  const char* kind;  // of `ip route`
  int v4_error;
  int v6_error;
};

TEST_P(UnreachableTest, NoRoute) {
  constexpr RouteRow kRows[] = {
      {"unreachable", EHOSTUNREACH, EHOSTUNREACH},
      {"prohibit", EACCES, EACCES},
      {"blackhole", EINVAL, EINVAL},
      {"throw", ENETUNREACH, ENETUNREACH},
  };
  for (const RouteRow& row : kRows) {
    const bool v6 = family() == Family::kV6;
    const char* prefix = v6 ? "fd77:8::/64" : "10.77.8.0/24";
    lab_->client.Shell(
        fmt::format("ip {} route replace {} {}", v6 ? "-6" : "-4", row.kind, prefix));
    const IpAddr ip = *IpAddr::Parse(v6 ? "fd77:8::8" : "10.77.8.8");
    const int error = v6 ? row.v6_error : row.v4_error;
    for (const bool blocking : {true, false}) {
      Check(
          fmt::format("no route, {}, {}", row.kind, blocking ? "blocking" : "non-blocking").c_str(),
          ip, 80, {Outcome::kNoRoute, error}, [&] {
            Fd fd = TcpSocket(family(), blocking);
            EXPECT_EQ(Connect(fd, family(), ip, 80), error);
          });
    }
    lab_->client.Shell(fmt::format("ip {} route del {} {}", v6 ? "-6" : "-4", row.kind, prefix));
  }
}

TEST_P(UnreachableTest, NoRouteAtAll) {
  const bool v6 = family() == Family::kV6;
  const IpAddr ip = *IpAddr::Parse(v6 ? "fd99::1" : "192.0.2.1");
  Check("no route, no entry", ip, 80, {Outcome::kNoRoute, ENETUNREACH}, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, 80), ENETUNREACH);
  });
}

// The errno of a failed attempt is told again by the next connect(2) on the socket; the one after
// that is an attempt of its own.
TEST_P(UnreachableTest, ReportedErrorIsNotAnotherAttempt) {
  const ServerReject reject(*lab_, 7006, family(), "host-unreachable", "addr-unreachable");
  const IpAddr ip = lab_->Server(family());
  // An ICMP error that arrives inside a connect(2) waits for the next retransmission.
  Check("ICMP, error read by connect", ip, 7006, HostUnreachable(-1), [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, 7006), EINPROGRESS);
    int error = EALREADY;
    EXPECT_TRUE(WaitFor([&] {
      error = Connect(fd, family(), ip, 7006);
      return error != EALREADY;
    }));
    EXPECT_EQ(error, EHOSTUNREACH);
  });
}

INSTANTIATE_TEST_SUITE_P(Families, UnreachableTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
