// The outcome table: each row is done with real sockets and must leave exactly one record with
// exactly these values, over IPv4, IPv6 and IPv4-mapped IPv6 sockets.
#include "agent/probe/outcome.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/icmp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <optional>

#include "agent/base/check.h"
#include "agent/base/clock.h"
#include "agent/probe/kernel_probe.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {
namespace {

struct Expected {
  Outcome outcome = Outcome::kUnspecified;
  int32_t error_number = 0;
  uint32_t icmp_type = 0;
  uint32_t icmp_code = 0;
  int64_t syn_retransmits = 0;  // -1: as many as the timing of the moment makes
};

const char* NameOf(Outcome outcome) {
  constexpr const char* kNames[] = {"UNSPECIFIED", "ESTABLISHED", "REFUSED",
                                    "TIMED_OUT",   "ABANDONED",   "UNREACHABLE",
                                    "NO_ROUTE",    "LOCAL_ERROR", "OTHER_ERROR"};
  return kNames[static_cast<int>(outcome)];
}

std::string Show(const Expected& e) {
  return fmt::format("{} errno {} icmp {}/{} retransmits {}", NameOf(e.outcome), e.error_number,
                     e.icmp_type, e.icmp_code, e.syn_retransmits);
}

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

class OutcomeTest : public testing::TestWithParam<Family> {
 protected:
  static void SetUpTestSuite() {
    lab_ = new NetworkLab;
    absl::StatusOr<std::unique_ptr<KernelProbe>> probe =
        KernelProbe::Load({.watch_new_proxies = false});
    ASSERT_TRUE(probe.ok()) << probe.status();
    probe_ = probe->release();
    ASSERT_TRUE(probe_->Watch(lab_->client.cookie()).ok());
    ASSERT_TRUE(probe_->limitations().empty()) << probe_->limitations().front();
    lab_->server.Run([] {
      listener_v4_ = new Fd(Listen(Family::kV4));
      listener_v6_ = new Fd(Listen(Family::kV6, LocalPort(*listener_v4_) + 1));
    });
    // Neighbour entries, so that no test begins with address resolution.
    lab_->client.Run([] {
      for (Family family : kFamilies) {
        Fd fd = TcpSocket(family, true);
        ASSERT_EQ(Connect(fd, family, lab_->Server(family), OpenPort(family)), 0);
      }
    });
    Drain();
  }

  static void TearDownTestSuite() {
    delete listener_v4_;
    delete listener_v6_;
    delete probe_;
    delete lab_;
  }

  Family family() const { return GetParam(); }
  static uint16_t OpenPort(Family family) {
    return LocalPort(family == Family::kV6 ? *listener_v6_ : *listener_v4_);
  }

  // Does `action` in the client's namespace, which must leave one record as expected. A connect
  // that is known to be recorded marks the end of what the action has left.
  void Check(const char* what, const IpAddr& destination, uint16_t port, const Expected& expected,
             const std::function<void()>& action) {
    const BootTime before = SystemClock().Now();
    uint32_t thread = 0;
    lab_->client.Run([&] {
      thread = gettid();
      action();
    });
    const BootTime after = SystemClock().Now();
    uint16_t marker_port = 0;
    Fd marker;
    lab_->client.Run([&] {
      marker = TcpSocket(Family::kV4, true);
      ASSERT_EQ(Connect(marker, Family::kV4, lab_->Server(Family::kV4), OpenPort(Family::kV4)), 0);
      marker_port = LocalPort(marker);
    });
    std::vector<Attempt> seen;
    ASSERT_TRUE(WaitFor([&] {
      for (const ConnectRecord& record : probe_->TakeConnects(1000)) {
        const Attempt attempt = ToAttempt(std::get<connect_record>(record));
        if (attempt.source.port == marker_port && attempt.thread_id != thread) return true;
        seen.push_back(attempt);
      }
      return false;
    }));
    ASSERT_EQ(seen.size(), 1u) << what << "; " << Totals();
    const Attempt& a = seen[0];
    const Expected got{a.outcome, a.error_number, a.icmp_type, a.icmp_code,
                       expected.syn_retransmits < 0 ? int64_t{-1} : a.syn_retransmits};
    std::printf("%-34s %-6s expected %-50s seen %s\n", what, NameOf(family()),
                Show(expected).c_str(), Show(got).c_str());
    EXPECT_EQ(Show(got), Show(expected)) << what;
    EXPECT_EQ(a.destination.ToString(), (SocketAddr{destination, port}.ToString()));
    EXPECT_EQ(a.netns_cookie, lab_->client.cookie());
    EXPECT_NE(a.cgroup_id, 0u);
    EXPECT_LT(a.process_start, a.started);
    EXPECT_GE(a.started, before);
    EXPECT_GE(a.ended, a.started);
    EXPECT_LE(a.ended, after);
    if (expect_own_identity_) {
      EXPECT_EQ(a.process_id, static_cast<uint32_t>(getpid()));
      EXPECT_EQ(a.thread_id, thread);
    }
    if (expected.outcome == Outcome::kNoRoute) {
      EXPECT_TRUE(a.source.ip.is_unset());
    } else if (expected.outcome != Outcome::kLocalError) {
      EXPECT_EQ(a.source.ip.ToString(), lab_->Client(family()).ToString());
      EXPECT_NE(a.source.port, 0);
      EXPECT_NE(a.socket_cookie, 0u);
    }
  }

  static std::string Totals() {
    const KernelTotals totals = probe_->ReadTotals();
    return fmt::format("attempts lost {}, storage failed {}, runs skipped {}",
                       totals[CONNECT_RECORD_ATTEMPT].lost,
                       totals[CONNECT_RECORD_ATTEMPT].storage_failed, probe_->ReadSkippedRuns());
  }

  // Forgets what was recorded so far.
  static void Drain() { probe_->TakeConnects(100'000); }

  // The kernel does not tell the type of an ICMPv6 error.
  Expected HostUnreachable(uint32_t retransmits) const {
    if (family() == Family::kV6) return {Outcome::kUnreachable, EHOSTUNREACH, 0, 0, retransmits};
    return {Outcome::kUnreachable, EHOSTUNREACH, ICMP_DEST_UNREACH, ICMP_HOST_UNREACH, retransmits};
  }

  void WaitConnected(const Fd& fd) {
    pollfd event{fd.get(), POLLOUT, 0};
    ASSERT_EQ(poll(&event, 1, 10'000), 1);
  }
  static int PendingError(const Fd& fd) {
    int error = 0;
    socklen_t size = sizeof(error);
    PHANTOMD_CHECK(getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0);
    return error;
  }

  static inline NetworkLab* lab_ = nullptr;
  static inline KernelProbe* probe_ = nullptr;
  static inline Fd* listener_v4_ = nullptr;
  static inline Fd* listener_v6_ = nullptr;
  bool expect_own_identity_ = true;
};

TEST_P(OutcomeTest, EstablishedBlocking) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  Check("established, blocking", ip, port, {Outcome::kEstablished}, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, port), 0);
  });
}

TEST_P(OutcomeTest, EstablishedNonBlocking) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  Check("established, non-blocking", ip, port, {Outcome::kEstablished}, [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, port), EINPROGRESS);
    WaitConnected(fd);
  });
}

TEST_P(OutcomeTest, RefusedBlocking) {
  const IpAddr ip = lab_->Server(family());
  Check("refused, blocking", ip, 9, {Outcome::kRefused, ECONNREFUSED}, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, 9), ECONNREFUSED);
  });
}

TEST_P(OutcomeTest, RefusedNonBlocking) {
  const IpAddr ip = lab_->Server(family());
  Check("refused, non-blocking", ip, 9, {Outcome::kRefused, ECONNREFUSED}, [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, 9), EINPROGRESS);
    WaitConnected(fd);
    EXPECT_EQ(PendingError(fd), ECONNREFUSED);
  });
}

TEST_P(OutcomeTest, AbandonedByClose) {
  const IpAddr ip = lab_->Silent(family());
  Check("abandoned, close", ip, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, 80), EINPROGRESS);
    fd.Close();
  });
}

TEST_P(OutcomeTest, AbandonedAfterRetransmission) {
  const IpAddr ip = lab_->Silent(family());
  Check("abandoned after one retransmission", ip, 80, {Outcome::kAbandoned, 0, 0, 0, 1}, [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, 80), EINPROGRESS);
    EXPECT_TRUE(WaitFor([&] {
      tcp_info info{};
      socklen_t size = sizeof(info);
      PHANTOMD_CHECK(getsockopt(fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
      return info.tcpi_total_retrans == 1;
    }));
  });
}

TEST_P(OutcomeTest, AbandonedByReset) {
  const IpAddr ip = lab_->Silent(family());
  Check("abandoned, SO_LINGER 0", ip, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, 80), EINPROGRESS);
    const linger reset{1, 0};
    PHANTOMD_CHECK(setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0);
  });
}

TEST_P(OutcomeTest, AbandonedByDisconnect) {
  const IpAddr ip = lab_->Silent(family());
  Check("abandoned, AF_UNSPEC", ip, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, 80), EINPROGRESS);
    sockaddr none{};
    none.sa_family = AF_UNSPEC;
    EXPECT_EQ(connect(fd.get(), &none, sizeof(none)), 0);
  });
}

TEST_P(OutcomeTest, AbandonedBySendTimeout) {
  const IpAddr ip = lab_->Silent(family());
  Check("abandoned, SO_SNDTIMEO", ip, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = TcpSocket(family(), true);
    const timeval timeout{0, 20'000};
    PHANTOMD_CHECK(setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) == 0);
    EXPECT_EQ(Connect(fd, family(), ip, 80), EINPROGRESS);
  });
}

TEST_P(OutcomeTest, AbandonedByKilledProcess) {
  const IpAddr ip = lab_->Silent(family());
  expect_own_identity_ = false;
  Check("abandoned, SIGKILL", ip, 80, {Outcome::kAbandoned}, [&] {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Fd fd = TcpSocket(family(), false);
      Connect(fd, family(), ip, 80);
      const char byte = 1;
      if (write(ready[1], &byte, 1) == 1) pause();
      _exit(1);
    }
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    kill(child, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    close(ready[0]);
    close(ready[1]);
  });
}

TEST_P(OutcomeTest, TimedOutByUserTimeout) {
  const IpAddr ip = lab_->Silent(family());
  Check("timed out, TCP_USER_TIMEOUT", ip, 80, {Outcome::kTimedOut, ETIMEDOUT, 0, 0, 1}, [&] {
    Fd fd = TcpSocket(family(), true);
    SetOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
    EXPECT_EQ(Connect(fd, family(), ip, 80), ETIMEDOUT);
  });
}

TEST_P(OutcomeTest, TimedOutBySynCount) {
  const IpAddr ip = lab_->Silent(family());
  Check("timed out, TCP_SYNCNT 1", ip, 80, {Outcome::kTimedOut, ETIMEDOUT, 0, 0, 1}, [&] {
    Fd fd = TcpSocket(family(), true);
    SetOption(fd, IPPROTO_TCP, TCP_SYNCNT, 1);
    EXPECT_EQ(Connect(fd, family(), ip, 80), ETIMEDOUT);
  });
}

// What the server answers to a SYN, by nft; the reject reaches the client while connect(2) still
// runs, because the veth delivers it on the same CPU.
TEST_P(OutcomeTest, UnreachableInsideConnect) {
  const ServerReject reject(*lab_, 7001, family(), "host-unreachable", "addr-unreachable");
  const IpAddr ip = lab_->Server(family());
  Check("ICMP inside connect, then closed", ip, 7001, HostUnreachable(0), [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), ip, 7001), EINPROGRESS);
  });
}

TEST_P(OutcomeTest, UnreachableInsideConnectReadByCaller) {
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

// The second SYN is answered when nobody holds the socket: the kernel ends the attempt itself, and
// connect(2) returns the error that the record already holds.
TEST_P(OutcomeTest, UnreachableBlocking) {
  const ServerReject reject(*lab_, 7003, family(), "host-unreachable", "addr-unreachable");
  const IpAddr ip = lab_->Server(family());
  Check("ICMP, blocking", ip, 7003, HostUnreachable(1), [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, 7003), EHOSTUNREACH);
  });
}

TEST_P(OutcomeTest, UnreachablePort) {
  const ServerReject reject(*lab_, 7004, family(), "port-unreachable", "port-unreachable");
  const IpAddr ip = lab_->Server(family());
  Expected expected{Outcome::kUnreachable, ECONNREFUSED, 0, 0, 1};
  if (family() != Family::kV6) expected.icmp_type = 3, expected.icmp_code = 3;
  Check("ICMP port unreachable, blocking", ip, 7004, expected, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, 7004), ECONNREFUSED);
  });
}

TEST_P(OutcomeTest, UnreachableByAdministrator) {
  const ServerReject reject(*lab_, 7005, family(), "admin-prohibited", "admin-prohibited");
  const IpAddr ip = lab_->Server(family());
  const Expected expected = family() == Family::kV6
                                ? Expected{Outcome::kUnreachable, EACCES, 0, 0, 1}
                                : Expected{Outcome::kUnreachable, EHOSTUNREACH, 3, 13, 1};
  Check("ICMP admin-prohibited, blocking", ip, 7005, expected, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, 7005), expected.error_number);
  });
}

// Three unanswered neighbour requests, one a second.
TEST_P(OutcomeTest, UnreachableNeighbour) {
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

TEST_P(OutcomeTest, NoRoute) {
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

TEST_P(OutcomeTest, NoRouteAtAll) {
  const bool v6 = family() == Family::kV6;
  const IpAddr ip = *IpAddr::Parse(v6 ? "fd99::1" : "192.0.2.1");
  Check("no route, no entry", ip, 80, {Outcome::kNoRoute, ENETUNREACH}, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, 80), ENETUNREACH);
  });
}

// The errno of a failed attempt is told again by the next connect(2) on the socket; the one after
// that is an attempt of its own.
TEST_P(OutcomeTest, ReportedErrorIsNotAnotherAttempt) {
  const ServerReject reject(*lab_, 7006, family(), "host-unreachable", "addr-unreachable");
  const IpAddr ip = lab_->Server(family());
  Check("ICMP, error read by connect", ip, 7006, HostUnreachable(1), [&] {
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

// Both a single free port that is taken and a bound port already used to the same peer.
TEST_P(OutcomeTest, LocalPortsExhausted) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  Fd holder;
  lab_->client.Run([&] {
    holder = TcpSocket(family(), true);
    EXPECT_EQ(Connect(holder, family(), ip, port), 0);
  });
  const uint16_t taken = LocalPort(holder);
  Drain();
  const auto ports = [&](int from, int to) {
    lab_->client.Shell(fmt::format("sysctl -qw net.ipv4.ip_local_port_range='{} {}'", from, to));
  };
  for (const bool blocking : {true, false}) {
    Check("no free port", ip, port, {Outcome::kLocalError, EADDRNOTAVAIL}, [&] {
      ports(taken, taken);
      Fd fd = TcpSocket(family(), blocking);
      EXPECT_EQ(Connect(fd, family(), ip, port), EADDRNOTAVAIL);
      ports(32768, 60999);
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OutcomeTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
