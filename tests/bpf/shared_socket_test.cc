// The outcome table, where a socket is used more than once or by more than one process: each
// connect is an attempt of its own, of the process that made it.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/wait.h>

#include <cstring>

#include "tests/bpf/outcome_fixture.h"

namespace phantomd {
namespace {

class SharedSocketTest : public OutcomeTest {
 protected:
  // Runs `body` in a child, which must end well.
  void InChild(const std::function<void()>& body) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      body();
      _exit(0);
    }
    ExpectConnector(child, child);
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  static int Disconnect(const Fd& fd) {
    sockaddr none{};
    none.sa_family = AF_UNSPEC;
    return connect(fd.get(), &none, sizeof(none)) == 0 ? 0 : errno;
  }
};

TEST_P(SharedSocketTest, EachConnectOfASocketIsAnAttempt) {
  const IpAddr ip = lab_->Server(family());
  const Expected refused{Outcome::kRefused, ECONNREFUSED};
  CheckAll("connect again after refused, blocking", ip, 9, {refused, refused, refused}, [&] {
    Fd fd = TcpSocket(family(), true);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Connect(fd, family(), ip, 9), ECONNREFUSED);
  });
  CheckAll("connect again after refused, non-blocking", ip, 9, {refused, refused}, [&] {
    Fd fd = TcpSocket(family(), false);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(Connect(fd, family(), ip, 9), EINPROGRESS);
      WaitConnected(fd);
      EXPECT_EQ(PendingError(fd), ECONNREFUSED);
      // What the failed attempt still has to say is not an attempt.
      EXPECT_EQ(Connect(fd, family(), ip, 9), ECONNABORTED);
    }
  });
}

// That a refusal was reported is remembered no longer than until it has been.
TEST_P(SharedSocketTest, FailureBeforeAnySynFollowsARefusal) {
  const IpAddr ip = lab_->Server(family());
  const std::string route =
      fmt::format("ip {} route {{}} unreachable {}", family() == Family::kV6 ? "-6" : "-4",
                  family() == Family::kV6 ? ip.ToString() + "/128" : ip.ToString());
  const Expected refused{Outcome::kRefused, ECONNREFUSED};
  const Expected unreachable{Outcome::kNoRoute, EHOSTUNREACH};
  CheckAll("no route after refused, same socket", ip, 9, {refused, unreachable, refused}, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, 9), ECONNREFUSED);
    lab_->client.Shell(fmt::format(fmt::runtime(route), "add"));
    EXPECT_EQ(Connect(fd, family(), ip, 9), EHOSTUNREACH);
    lab_->client.Shell(fmt::format(fmt::runtime(route), "del"));
    EXPECT_EQ(Connect(fd, family(), ip, 9), ECONNREFUSED);
  });
}

// AF_UNSPEC leaves an error on the socket, which the next attempt finds there.
TEST_P(SharedSocketTest, NoPortIsLeftAfterDisconnecting) {
  const IpAddr ip = lab_->Silent(family());
  const auto ports = [&](const std::string& range) {
    lab_->client.Shell("sysctl -qw net.ipv4.ip_local_port_range='" + range + "'");
  };
  Fd holder;
  Fd fd;
  CheckAll("no port left after AF_UNSPEC", ip, 80,
           {{Outcome::kAbandoned}, {Outcome::kLocalError, EADDRNOTAVAIL}, {Outcome::kAbandoned}},
           [&] {
             fd = TcpSocket(family(), false);
             EXPECT_EQ(Connect(fd, family(), ip, 80), EINPROGRESS);
             EXPECT_EQ(Disconnect(fd), 0);
             ports("45000 45000");
             holder = TcpSocket(family(), false);
             EXPECT_EQ(Connect(holder, family(), ip, 80), EINPROGRESS);
             EXPECT_EQ(Connect(fd, family(), ip, 80), EADDRNOTAVAIL);
             ports("32768 60999");
             holder.Close();
           });
}

TEST_P(SharedSocketTest, ConnectAgainAfterDisconnecting) {
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  CheckAll("connect again after AF_UNSPEC", ip, port,
           {{Outcome::kEstablished}, {Outcome::kEstablished}}, [&] {
             Fd fd = TcpSocket(family(), true);
             EXPECT_EQ(Connect(fd, family(), ip, port), 0);
             EXPECT_EQ(Disconnect(fd), 0);
             EXPECT_EQ(Connect(fd, family(), ip, port), 0);
           });
}

TEST_P(SharedSocketTest, ConnectOfAConnectingOrConnectedSocketIsNone) {
  const IpAddr silent = lab_->Silent(family());
  Check("connect again while connecting", silent, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = TcpSocket(family(), false);
    EXPECT_EQ(Connect(fd, family(), silent, 80), EINPROGRESS);
    EXPECT_EQ(Connect(fd, family(), silent, 80), EALREADY);
  });
  const IpAddr ip = lab_->Server(family());
  const uint16_t port = OpenPort(family());
  Check("connect again while connected", ip, port, {Outcome::kEstablished}, [&] {
    Fd fd = TcpSocket(family(), true);
    EXPECT_EQ(Connect(fd, family(), ip, port), 0);
    EXPECT_EQ(Connect(fd, family(), ip, port), EISCONN);
  });
}

TEST_P(SharedSocketTest, ChildConnectsTheParentsSocket) {
  const IpAddr ip = lab_->Server(family());
  Check("fork, the child connects", ip, 9, {Outcome::kRefused, ECONNREFUSED}, [&] {
    Fd fd = TcpSocket(family(), true);
    InChild([&] {
      if (Connect(fd, family(), ip, 9) != ECONNREFUSED) _exit(1);
    });
  });
}

// Who connected is told, not who gave up.
TEST_P(SharedSocketTest, ParentClosesWhatItsChildBegan) {
  const IpAddr ip = lab_->Silent(family());
  Check("fork, the parent closes", ip, 80, {Outcome::kAbandoned}, [&] {
    Fd fd = TcpSocket(family(), false);
    InChild([&] {
      if (Connect(fd, family(), ip, 80) != EINPROGRESS) _exit(1);
    });
    fd.Close();
  });
}

TEST_P(SharedSocketTest, ReceiverOfASocketConnectsIt) {
  const IpAddr ip = lab_->Server(family());
  Check("passed descriptor, the receiver connects", ip, 9, {Outcome::kRefused, ECONNREFUSED}, [&] {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends), 0);
    const Fd ours(ends[0]);
    const Fd theirs(ends[1]);
    char byte = 1;
    iovec data{&byte, 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    {
      const Fd sent = TcpSocket(family(), true);
      const int number = sent.get();
      std::memcpy(CMSG_DATA(header), &number, sizeof(number));
      ASSERT_EQ(sendmsg(ours.get(), &message, 0), 1);
    }
    InChild([&] {
      if (recvmsg(theirs.get(), &message, 0) != 1) _exit(1);
      int number = -1;
      std::memcpy(&number, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(number));
      if (Connect(Fd(number), family(), ip, 9) != ECONNREFUSED) _exit(2);
    });
  });
}

INSTANTIATE_TEST_SUITE_P(Families, SharedSocketTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace phantomd
