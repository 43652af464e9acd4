// The outcome table, where nobody or the destination itself answers: each row is done with real
// sockets, over IPv4, IPv6 and IPv4-mapped IPv6.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "tests/bpf/outcome_fixture.h"

namespace phantomd {
namespace {

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
  Check("abandoned, SIGKILL", ip, 80, {Outcome::kAbandoned}, [&] {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    ExpectConnector(child, child);
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

// A single port to choose from, and that one taken for this peer.
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
    const char* what = blocking ? "no free port, blocking" : "no free port, non-blocking";
    Check(what, ip, port, {Outcome::kLocalError, EADDRNOTAVAIL}, [&] {
      ports(taken, taken);
      Fd fd = TcpSocket(family(), blocking);
      EXPECT_EQ(Connect(fd, family(), ip, port), EADDRNOTAVAIL);
      ports(32768, 60999);
    });
  }
}

// Two sockets may be bound to one port, but not connected to one peer.
TEST_P(OutcomeTest, BoundPortInUse) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  const auto bound = [&](uint16_t source_port) {
    Fd fd = TcpSocket(family(), true);
    SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    const SocketAddress from = ToSockaddr(family(), lab_->Client(family()), source_port);
    EXPECT_EQ(bind(fd.get(), from.get(), from.size), 0);
    return fd;
  };
  CheckAll("bound port in use to the same peer", ip, port,
           {{Outcome::kEstablished}, {Outcome::kLocalError, EADDRNOTAVAIL}}, [&] {
             const Fd holder = bound(0);
             const Fd second = bound(LocalPort(holder));
             EXPECT_EQ(Connect(holder, family(), ip, port), 0);
             EXPECT_EQ(Connect(second, family(), ip, port), EADDRNOTAVAIL);
           });
}

void IgnoreSignal(int) {}

TEST_P(OutcomeTest, AbandonedByInterruptedCaller) {
  const IpAddr ip = lab_->Silent(family());
  struct sigaction action {};
  action.sa_handler = IgnoreSignal;  // without SA_RESTART: connect(2) returns EINTR
  struct sigaction old {};
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old), 0);
  Check("abandoned, EINTR and close", ip, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = TcpSocket(family(), true);
    std::atomic<bool> returned = false;
    std::thread interrupter([&, caller = pthread_self()] {
      EXPECT_TRUE(WaitFor([&] {
        pthread_kill(caller, SIGUSR1);
        return returned.load();
      }));
    });
    EXPECT_EQ(Connect(fd, family(), ip, 80), EINTR);
    returned = true;
    interrupter.join();
  });
  sigaction(SIGUSR1, &old, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Families, OutcomeTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
