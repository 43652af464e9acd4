#include "tests/bpf/end_fixture.h"

#include <fmt/ranges.h>
#include <sys/socket.h>

#include <utility>

namespace phantomd {
namespace {

const char* NameOf(ConnectionEnd::How how) {
  constexpr const char* kNames[] = {"UNSPECIFIED", "CLOSED",  "RESET",
                                    "ABORTED",     "STALLED", "EXPIRED"};
  return kNames[static_cast<int>(how)];
}

}  // namespace

std::string Show(const std::vector<ExpectedEnd>& ends) {
  if (ends.empty()) return "no record";
  std::vector<std::string> records;
  for (const ExpectedEnd& end : ends) {
    records.push_back(
        fmt::format("{} {}/{} bytes", NameOf(end.how), end.bytes_sent, end.bytes_received));
  }
  return fmt::format("{}", fmt::join(records, " + "));
}

void EndTest::SetUpTestSuite() {
  lab_ = new NetworkLab;
  absl::StatusOr<std::unique_ptr<KernelProbe>> probe =
      KernelProbe::Load({.watch_new_proxies = false, .record_closes = true});
  ASSERT_TRUE(probe.ok()) << probe.status();
  probe_ = probe->release();
  ASSERT_TRUE(probe_->limitations().empty()) << probe_->limitations().front();
  // The server's side, too: its sockets have connected to nobody, so that their ends are no news.
  ASSERT_TRUE(probe_->Watch(lab_->client.cookie()).ok());
  ASSERT_TRUE(probe_->Watch(lab_->server.cookie()).ok());
  // The kernel retransmits after 20 ms, 40 ms, 80 ms, and gives an orphan up after 0.6 s.
  lab_->client.Shell(
      "ip route add 10.77.0.1/32 dev v0 rto_min 20ms;"
      "ip -6 route add fd77::1/128 dev v0 rto_min 20ms;"
      "sysctl -qw net.ipv4.tcp_orphan_retries=1");
  lab_->server.Run([] {
    listener_v4_ = new Fd(Listen(Family::kV4));
    listener_v6_ = new Fd(Listen(Family::kV6, LocalPort(*listener_v4_) + 1));
  });
}

void EndTest::TearDownTestSuite() {
  delete listener_v4_;
  delete listener_v6_;
  delete probe_;
  delete lab_;
}

EndTest::Connection EndTest::Connect() const {
  Connection out = ConnectOnly();
  out.server = Accept();
  return out;
}

EndTest::Connection EndTest::ConnectOnly() const {
  Connection out;
  const Fd& listener = family() == Family::kV6 ? *listener_v6_ : *listener_v4_;
  lab_->client.Run([&] {
    out.client = TcpSocket(family(), true);
    ASSERT_EQ(phantomd::Connect(out.client, family(), lab_->Server(family()), LocalPort(listener)),
              0);
    out.process_id = static_cast<uint32_t>(getpid());
    out.thread_id = static_cast<uint32_t>(gettid());
  });
  out.port = LocalPort(out.client);
  socklen_t size = sizeof(out.cookie);
  EXPECT_EQ(getsockopt(out.client.get(), SOL_SOCKET, SO_COOKIE, &out.cookie, &size), 0);
  return out;
}

Fd EndTest::Accept() const {
  const Fd& listener = family() == Family::kV6 ? *listener_v6_ : *listener_v4_;
  Fd out(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  EXPECT_GE(out.get(), 0);
  return out;
}

void EndTest::Check(std::string_view what, const std::vector<ExpectedEnd>& expected,
                    const std::function<void(Connection&)>& action) {
  CheckOf(what, Connect(), expected, action);
}

void EndTest::CheckOf(std::string_view what, Connection connection,
                      const std::vector<ExpectedEnd>& expected,
                      const std::function<void(Connection&)>& action) {
  action(connection);
  std::vector<ConnectionEnd> seen;
  const auto take = [&] {
    for (ConnectionEnd& end : TakeEnds(connection.cookie)) seen.push_back(end);
    return seen.size() >= expected.size();
  };
  WaitFor(take);
  take();  // one too many would be there by now
  std::vector<ExpectedEnd> got;
  for (const ConnectionEnd& end : seen) {
    got.push_back({end.how, end.bytes_sent, end.bytes_received});
  }
  ResultTable::Instance().Add(what, family(), Show(expected), Show(got));
  EXPECT_EQ(Show(got), Show(expected)) << what;
  for (const ConnectionEnd& end : seen) CheckCircumstances(end, connection);
}

// Of this connection. Nothing tells of any other socket's end but of those that connected here.
std::vector<ConnectionEnd> EndTest::TakeEnds(uint64_t cookie) {
  std::vector<ConnectionEnd> out;
  for (const ConnectRecord& record : probe_->TakeConnects(100'000)) {
    const auto* end = std::get_if<end_record>(&record);
    if (end == nullptr) continue;
    EXPECT_EQ(end->netns_cookie, lab_->client.cookie());
    if (end->socket_cookie == cookie) out.push_back(ToConnectionEnd(*end));
  }
  return out;
}

void EndTest::CheckCircumstances(const ConnectionEnd& end, const Connection& connection) const {
  EXPECT_EQ(end.destination.ip, lab_->Server(family()));
  EXPECT_NE(end.destination.port, 0);
  EXPECT_EQ(end.netns_cookie, lab_->client.cookie());
  EXPECT_EQ(end.process_id, connection.process_id);
  EXPECT_EQ(end.thread_id, connection.thread_id);
  EXPECT_NE(end.cgroup_id, 0u);
  EXPECT_LT(end.established, end.ended);
  EXPECT_FALSE(end.adopted);
}

EndTest::Silence::Silence(const Connection& connection, int packets) {
  lab_->server.Shell(fmt::format(
      "nft add table inet silence;"
      "nft 'add chain inet silence in {{ type filter hook prerouting priority -300; }}';"
      "nft add rule inet silence in tcp sport {} {} drop",
      connection.port,
      packets > 0 ? fmt::format("limit rate 1/day burst {} packets", packets) : ""));
}

EndTest::Silence::~Silence() { lab_->server.Shell("nft delete table inet silence"); }

void EndTest::Send(const Fd& fd, std::string_view text) {
  EXPECT_EQ(send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
}

void EndTest::Receive(const Fd& fd, size_t size) {
  std::string text(size, '\0');
  EXPECT_EQ(recv(fd.get(), text.data(), size, MSG_WAITALL), ssize_t(size));
}

void EndTest::PingAndClose(Connection& c) {
  Send(c.client, "ping");
  Receive(c.server, 4);
  c.client.Close();
  Receive(c.server, 0);
  c.server.Close();
}

void EndTest::ResetWhenClosed(const Fd& fd) {
  const linger reset{1, 0};
  PHANTOMD_CHECK(setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) == 0);
}

int EndTest::Retransmits(const Fd& fd) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  PHANTOMD_CHECK(getsockopt(fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) == 0);
  return info.tcpi_retransmits;
}

}  // namespace phantomd
