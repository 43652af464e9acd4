// What becomes of established connections: each way to end is done with real sockets, over IPv4,
// IPv6 and IPv4-mapped IPv6.
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>

#include "tests/bpf/end_fixture.h"

namespace phantomd {
namespace {

TEST_P(EndTest, ClosedByThisSide) {
  Check("closed by this side", {{How::kClosed, 4, 5}}, [](Connection& c) {
    Send(c.client, "ping");
    Receive(c.server, 4);
    Send(c.server, "pong!");
    Receive(c.client, 5);
    c.client.Close();
    Receive(c.server, 0);
    c.server.Close();
  });
}

TEST_P(EndTest, ClosedByThePeer) {
  Check("closed by the peer", {{How::kClosed, 4, 5}}, [](Connection& c) {
    Send(c.client, "ping");
    Receive(c.server, 4);
    Send(c.server, "pong!");
    c.server.Close();
    Receive(c.client, 5);
    c.client.Close();
  });
}

TEST_P(EndTest, ClosedByHalves) {
  Check("closed by halves", {{How::kClosed, 4, 5}}, [](Connection& c) {
    Send(c.client, "ping");
    EXPECT_EQ(shutdown(c.client.get(), SHUT_WR), 0);
    Receive(c.server, 4);
    Send(c.server, "pong!");
    c.server.Close();
    Receive(c.client, 5);
  });
}

// The peer has said good-bye; what it also said nobody wants to read any more.
TEST_P(EndTest, LeftUnreadAfterThePeersFin) {
  Check("peer's FIN, then closed unread", {{How::kClosed, 0, 5}}, [](Connection& c) {
    Send(c.server, "pong!");
    c.server.Close();
    EXPECT_TRUE(WaitFor([&] {
      tcp_info info{};
      socklen_t size = sizeof(info);
      EXPECT_EQ(getsockopt(c.client.get(), IPPROTO_TCP, TCP_INFO, &info, &size), 0);
      return info.tcpi_state == TCP_CLOSE_WAIT;
    }));
    c.client.Close();
  });
}

TEST_P(EndTest, ResetByThePeer) {
  Check("reset by the peer", {{How::kReset, 4, 0}}, [](Connection& c) {
    Send(c.client, "ping");
    Receive(c.server, 4);
    ResetWhenClosed(c.server);
    c.server.Close();
  });
}

// The peer's process is gone, its kernel answers: EPIPE, not ECONNRESET.
TEST_P(EndTest, ResetAfterThePeersFin) {
  Check("reset after the peer's FIN", {{How::kReset, 4, 0}}, [](Connection& c) {
    c.server.Close();
    Receive(c.client, 0);
    Send(c.client, "ping");
  });
}

TEST_P(EndTest, ResetOfAnOrphan) {
  Check("closed, then reset by the peer", {{How::kReset, 4, 0}}, [](Connection& c) {
    Send(c.client, "ping");
    EXPECT_EQ(shutdown(c.client.get(), SHUT_WR), 0);
    c.server.Close();  // unread
  });
}

TEST_P(EndTest, Aborted) {
  Check("aborted, SO_LINGER 0", {{How::kAborted, 4, 0}}, [](Connection& c) {
    Send(c.client, "ping");
    ResetWhenClosed(c.client);
    c.client.Close();
  });
  Check("aborted, closed unread", {{How::kAborted, 0, 5}}, [](Connection& c) {
    Send(c.server, "pong!");
    pollfd readable{c.client.get(), POLLIN, 0};
    EXPECT_EQ(poll(&readable, 1, 10'000), 1);
    c.client.Close();
  });
  Check("aborted, AF_UNSPEC", {{How::kAborted, 4, 0}}, [](Connection& c) {
    Send(c.client, "ping");
    sockaddr none{};
    none.sa_family = AF_UNSPEC;
    EXPECT_EQ(connect(c.client.get(), &none, sizeof(none)), 0);
  });
}

// Data, its tail loss probe and two retransmissions by the timer vanish; the third arrives. The
// stall is told when it is sent, and the end of the connection apart from it.
TEST_P(EndTest, StalledAndAliveAgain) {
  Connection connection = Connect();
  const Silence silence(connection, 4);
  CheckOf("stalled, then answered and closed", std::move(connection),
          {{How::kStalled, 4, 0}, {How::kClosed, 4, 0}}, PingAndClose);
}

TEST_P(EndTest, TwoRetransmissionsAreNoStall) {
  Connection connection = Connect();
  const Silence silence(connection, 3);
  CheckOf("answered at the second retransmission", std::move(connection), {{How::kClosed, 4, 0}},
          PingAndClose);
}

// Five retransmissions are one stall.
TEST_P(EndTest, StallIsToldOnce) {
  Connection connection = Connect();
  const Silence silence(connection);
  CheckOf("stalled for long, then aborted", std::move(connection),
          {{How::kStalled, 4, 0}, {How::kAborted, 4, 0}}, [](Connection& c) {
            Send(c.client, "ping");
            EXPECT_TRUE(WaitFor([&] { return Retransmits(c.client) >= 5; }));
            ResetWhenClosed(c.client);
            c.client.Close();
          });
}

TEST_P(EndTest, StalledAndGivenUp) {
  Connection connection = Connect();
  const Silence silence(connection);
  CheckOf("stalled, then given up", std::move(connection),
          {{How::kStalled, 4, 0}, {How::kExpired, 4, 0}}, [](Connection& c) {
            SetOption(c.client, IPPROTO_TCP, TCP_USER_TIMEOUT, 500);
            Send(c.client, "ping");
          });
}

TEST_P(EndTest, GivenUpByKeepalive) {
  Connection connection = Connect();
  const Silence silence(connection);
  CheckOf("given up by keepalive", std::move(connection), {{How::kExpired, 0, 0}},
          [](Connection& c) {
            SetOption(c.client, IPPROTO_TCP, TCP_KEEPIDLE, 1);
            SetOption(c.client, IPPROTO_TCP, TCP_KEEPINTVL, 1);
            SetOption(c.client, IPPROTO_TCP, TCP_KEEPCNT, 1);
            SetOption(c.client, SOL_SOCKET, SO_KEEPALIVE, 1);
          });
}

// The caller has left, the kernel goes on: the socket is an orphan.
TEST_P(EndTest, OrphanStallsAndIsGivenUp) {
  Connection connection = Connect();
  const Silence silence(connection);
  CheckOf("closed with data unanswered", std::move(connection),
          {{How::kStalled, 4, 0}, {How::kExpired, 4, 0}}, [](Connection& c) {
            Send(c.client, "ping");
            c.client.Close();
          });
}

TEST_P(EndTest, OrphanWithNothingButItsFinStalls) {
  Connection connection = Connect();
  const Silence silence(connection);
  CheckOf("closed, FIN unanswered", std::move(connection),
          {{How::kStalled, 0, 0}, {How::kExpired, 0, 0}}, [](Connection& c) { c.client.Close(); });
}

// Both sides had said good-bye: only the answer to the last FIN is missing.
TEST_P(EndTest, LastFinUnansweredIsClosed) {
  Connection connection = Connect();
  connection.server.Close();
  Receive(connection.client, 0);
  const Silence silence(connection);
  CheckOf("peer's FIN, own FIN unanswered", std::move(connection), {{How::kClosed, 0, 0}},
          [](Connection& c) { c.client.Close(); });
}

// Its identity is that of the process that connected, which is gone by the time of the record.
TEST_P(EndTest, ProcessKilledWhileStalled) {
  int to_child[2];
  int to_parent[2];
  ASSERT_EQ(pipe(to_child), 0);
  ASSERT_EQ(pipe(to_parent), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const Connection mine = ConnectOnly();
    const uint64_t told[] = {mine.cookie, mine.port, mine.thread_id};
    char byte = 0;
    if (write(to_parent[1], told, sizeof(told)) == ssize_t(sizeof(told)) &&
        read(to_child[0], &byte, 1) == 1) {
      Send(mine.client, "ping");
      if (write(to_parent[1], &byte, 1) == 1) pause();
    }
    _exit(1);
  }
  Connection connection;
  uint64_t told[3] = {};
  ASSERT_EQ(read(to_parent[0], told, sizeof(told)), ssize_t(sizeof(told)));
  connection.cookie = told[0];
  connection.port = static_cast<uint16_t>(told[1]);
  connection.thread_id = static_cast<uint32_t>(told[2]);
  connection.process_id = static_cast<uint32_t>(child);
  connection.server = Accept();
  const Silence silence(connection);
  CheckOf("process killed with data unanswered", std::move(connection),
          {{How::kStalled, 4, 0}, {How::kExpired, 4, 0}}, [&](Connection&) {
            char byte = 1;
            EXPECT_EQ(write(to_child[1], &byte, 1), 1);
            EXPECT_EQ(read(to_parent[0], &byte, 1), 1);
            kill(child, SIGKILL);
            int status = 0;
            EXPECT_EQ(waitpid(child, &status, 0), child);
          });
  for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]}) close(fd);
}

INSTANTIATE_TEST_SUITE_P(Families, EndTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

// As the agent runs: ends by FIN are not told, the others are.
TEST(EndRecordTest, ClosesAreNotRecordedUnlessAskedFor) {
  const NetworkLab lab;
  absl::StatusOr<std::unique_ptr<KernelProbe>> probe =
      KernelProbe::Load({.watch_new_proxies = false});
  ASSERT_TRUE(probe.ok()) << probe.status();
  ASSERT_TRUE((*probe)->Watch(lab.client.cookie()).ok());
  Fd listener;
  lab.server.Run([&] { listener = Listen(Family::kV4); });
  const auto connected = [&] {
    Fd fd;
    lab.client.Run([&] {
      fd = TcpSocket(Family::kV4, true);
      ASSERT_EQ(Connect(fd, Family::kV4, lab.Server(Family::kV4), LocalPort(listener)), 0);
    });
    return fd;
  };
  connected().Close();
  Fd aborted = connected();
  const linger reset{1, 0};
  ASSERT_EQ(setsockopt(aborted.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)), 0);
  aborted.Close();
  std::vector<end_record> ends;
  for (const ConnectRecord& record : (*probe)->TakeConnects(100)) {
    if (const auto* end = std::get_if<end_record>(&record)) ends.push_back(*end);
  }
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ClassifyEnd(ends[0]), ConnectionEnd::How::kAborted);
  EXPECT_EQ((*probe)->ReadTotals()[CONNECT_RECORD_END].submitted, 1u);
}

}  // namespace
}  // namespace phantomd
