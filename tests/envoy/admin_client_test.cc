// AdminClient against servers that answer well, badly, or not at all: one clear error each, and the
// next request is served.
#include "agent/envoy/admin_client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>

#include "tests/envoy/fake_admin_server.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;

AdminClientOptions Quick() {
  AdminClientOptions options;
  options.timeout = std::chrono::milliseconds(300);
  options.max_bytes = 64 << 10;
  return options;
}

// The reply to one request, waited for well beyond its own timeout.
AdminReply Ask(AdminClient& client, AdminSockets& sockets, const SocketAddr& at,
               const std::string& path) {
  const SystemClock clock;
  client.Get(1, sockets, at, path);
  const BootTime deadline = clock.Now() + std::chrono::seconds(20);
  while (clock.Now() < deadline) {
    for (AdminReply& reply : client.Wait(std::chrono::milliseconds(100))) return std::move(reply);
  }
  ADD_FAILURE() << "no reply to " << path;
  return {0, absl::InternalError("none"), {}, {}, {}};
}

class AdminClientTest : public ::testing::Test {
 protected:
  AdminReply AskFor(FakeReply reply) {
    FakeAdminServer server([&](const std::string&) { return reply; });
    return Ask(client_, *sockets_, server.address(), "/clusters?format=json");
  }

  SystemClock clock_;
  AdminClient client_{Quick(), clock_};
  std::unique_ptr<AdminSockets> sockets_ = *SocketsOfOwnNamespace(getpid());
};

TEST_F(AdminClientTest, AnswerComesWholeWithItsBracketAndCost) {
  const BootTime before = clock_.Now();
  const AdminReply reply = AskFor(FakeReply::Ok("{\"cluster_statuses\":[]}"));
  ASSERT_TRUE(reply.body.ok()) << reply.body.status();
  EXPECT_EQ(*reply.body, "{\"cluster_statuses\":[]}");
  EXPECT_GE(reply.requested, before);
  EXPECT_LT(reply.requested, reply.received);
  EXPECT_LE(reply.received, clock_.Now());
  EXPECT_GT(reply.served, Nanos(0));
  EXPECT_LE(reply.served, reply.received - reply.requested + std::chrono::milliseconds(1));
}

TEST_F(AdminClientTest, EveryMisbehaviourIsAnErrorOfItsKindThatNamesTheRequest) {
  using End = FakeReply::End;
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
  struct Row {
    const char* what;
    FakeReply reply;
    const char* kind;
  };
  for (const Row& row : {
           Row{"stalls before the answer", {"", End::kStall}, "timeout"},
           Row{"stalls inside the answer", {head + "{", End::kStall}, "timeout"},
           Row{"drips", {head + std::string(100, ' '), End::kDrip}, "timeout"},
           Row{"closes without an answer", {"", End::kClose}, "half_answer"},
           Row{"resets", {"", End::kReset}, "connect"},
           Row{"closes inside the answer", {head + "{}", End::kClose}, "half_answer"},
           Row{"ends inside a chunk",
               {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{", End::kClose},
               "half_answer"},
           Row{"says 500",
               {"HTTP/1.1 500 Oops\r\nContent-Length: 5\r\n\r\nboom\n", End::kClose},
               "http"},
           Row{"redirects",
               {"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
                End::kClose},
               "http"},
           Row{"is no HTTP server", {"SSH-2.0-OpenSSH_9.2\r\n", End::kClose}, "half_answer"},
           Row{"says too much",
               {"HTTP/1.1 200 OK\r\n\r\n" + std::string(70 << 10, 'x'), End::kClose},
               "too_large"},
       }) {
    const AdminReply reply = AskFor(row.reply);
    ASSERT_FALSE(reply.body.ok()) << row.what;
    EXPECT_EQ(AdminErrorKind(reply.body.status()), row.kind)
        << row.what << ": " << reply.body.status();
    EXPECT_THAT(reply.body.status().ToString(), HasSubstr("/clusters?format=json")) << row.what;
  }
  EXPECT_TRUE(AskFor(FakeReply::Ok("{}")).body.ok()) << "the client is as good as new";
}

TEST_F(AdminClientTest, ErrorPageIsShownWithoutItsControlCharacters) {
  const AdminReply reply = AskFor(
      {"HTTP/1.1 503 No\r\nContent-Length: 12\r\n\r\nno\x1b[31m way\n", FakeReply::End::kClose});
  EXPECT_THAT(reply.body.status().ToString(), HasSubstr("HTTP status 503: no?[31m way"));
}

TEST_F(AdminClientTest, NobodyListening) {
  std::optional<FakeAdminServer> server;
  server.emplace([](const std::string&) { return FakeReply::Ok("{}"); });
  const SocketAddr at = server->address();
  server.reset();
  const AdminReply reply = Ask(client_, *sockets_, at, "/server_info");
  EXPECT_EQ(AdminErrorKind(reply.body.status()), "connect") << reply.body.status();
}

TEST_F(AdminClientTest, StalledProxyDelaysNoOther) {
  FakeAdminServer stalled([](const std::string&) { return FakeReply{"", FakeReply::End::kStall}; });
  FakeAdminServer prompt([](const std::string&) { return FakeReply::Ok("{}"); });
  client_.Get(7, *sockets_, stalled.address(), "/clusters");
  const AdminReply reply = Ask(client_, *sockets_, prompt.address(), "/clusters");
  EXPECT_EQ(reply.token, 1u);
  EXPECT_TRUE(reply.body.ok());
  client_.Cancel(7);
  EXPECT_TRUE(client_.Wait(std::chrono::milliseconds(1)).empty())
      << "a cancelled request is silent";
}

TEST_F(AdminClientTest, ConnectionIsNotKept) {
  FakeAdminServer server([](const std::string&) {
    return FakeReply{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", FakeReply::End::kStall};
  });
  EXPECT_TRUE(Ask(client_, *sockets_, server.address(), "/a").body.ok());
  EXPECT_TRUE(Ask(client_, *sockets_, server.address(), "/b").body.ok())
      << "the server never serves a second request on one connection";
}

TEST_F(AdminClientTest, ProcessThatIsGoneIsANamespaceError) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const auto sockets = SocketsOfProcess(child);
  ASSERT_FALSE(sockets.ok());
  EXPECT_EQ(AdminErrorKind(sockets.status()), "namespace") << sockets.status();
}

// A process in a network namespace of its own that serves one answer after another on its loopback.
class NamespacedServer {
 public:
  NamespacedServer() {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) Serve(ready[1]);
    close(ready[1]);
    const ssize_t count = read(ready[0], &port_, sizeof(port_));
    if (count != sizeof(port_)) port_ = 0;
    close(ready[0]);
  }
  ~NamespacedServer() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  SocketAddr address() const { return {IpAddr::V4(127, 0, 0, 1), port_}; }

 private:
  [[noreturn]] static void Serve(int ready) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNET) != 0) _exit(1);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    ifreq loopback{};
    loopback.ifr_name[0] = 'l';
    loopback.ifr_name[1] = 'o';
    loopback.ifr_flags = IFF_UP;
    if (ioctl(listener, SIOCSIFFLAGS, &loopback) != 0) _exit(2);
    sockaddr_in bound{};
    bound.sin_family = AF_INET;
    bound.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(bound);
    if (bind(listener, reinterpret_cast<sockaddr*>(&bound), size) != 0) _exit(3);
    if (listen(listener, 8) != 0) _exit(4);
    getsockname(listener, reinterpret_cast<sockaddr*>(&bound), &size);
    const uint16_t port = ntohs(bound.sin_port);
    if (write(ready, &port, sizeof(port)) != sizeof(port)) _exit(5);
    for (;;) {
      const int fd = accept(listener, nullptr, nullptr);
      char request[4096];
      const char reply[] = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\ninside";
      if (recv(fd, request, sizeof(request), 0) > 0) send(fd, reply, sizeof(reply) - 1, 0);
      close(fd);
    }
  }

  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

TEST_F(AdminClientTest, SocketIsOpenedInTheProcessesNamespaceAndTheThreadComesBack) {
  if (geteuid() != 0) GTEST_SKIP() << "entering a network namespace needs root";
  NamespacedServer inside;
  ASSERT_NE(inside.address().port, 0) << "the namespaced server did not start";
  FakeAdminServer outside([](const std::string&) { return FakeReply::Ok("outside"); });
  auto sockets = SocketsOfProcess(inside.pid());
  ASSERT_TRUE(sockets.ok()) << sockets.status();

  const AdminReply reply = Ask(client_, **sockets, inside.address(), "/server_info");
  ASSERT_TRUE(reply.body.ok()) << reply.body.status();
  EXPECT_EQ(*reply.body, "inside");
  const AdminReply ours = Ask(client_, *sockets_, outside.address(), "/server_info");
  ASSERT_TRUE(ours.body.ok()) << ours.body.status();
  EXPECT_EQ(*ours.body, "outside");
  EXPECT_FALSE(Ask(client_, **sockets, outside.address(), "/server_info").body.ok())
      << "our loopback is not theirs";
}

}  // namespace
}  // namespace phantomd
