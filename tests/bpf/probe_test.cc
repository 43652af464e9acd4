// The whole probe with real processes: proxies are found, their first connect included, and every
// connection is given its initiator.
#include "agent/probe/probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "agent/base/check.h"
#include "agent/base/clock.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr uint32_t kProxyUid = 1337;

// A process that runs the stand-in under a proxy's name, inside a namespace. Ends with the object.
class FakeProxy {
 public:
  FakeProxy(const std::string& executable, const NetworkNamespace& netns,
            const std::vector<std::string>& arguments, const std::string& first = "") {
    int to[2];
    int from[2];
    PHANTOMD_CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
    std::vector<std::string> words = arguments;
    words.insert(words.begin(), executable);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = fork();
    PHANTOMD_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      setenv("FAKE_PROXY_UID", std::to_string(kProxyUid).c_str(), 1);
      if (!first.empty()) setenv("FAKE_PROXY_FIRST", first.c_str(), 1);
      if (dup2(to[0], 0) < 0 || dup2(from[1], 1) < 0) _exit(126);
      if (setns(netns.fd(), CLONE_NEWNET) == 0) execv(executable.c_str(), argv.data());
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    to_ = Fd(to[1]);
    from_ = fdopen(from[0], "r");
  }
  ~FakeProxy() {
    to_.Close();
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    fclose(from_);
  }

  std::string Do(const std::string& command) {
    const std::string line = command + "\n";
    PHANTOMD_CHECK(write(to_.get(), line.data(), line.size()) == ssize_t(line.size()));
    char answer[128] = {};
    PHANTOMD_CHECK(fgets(answer, sizeof(answer), from_) != nullptr);
    return answer;
  }
  uint16_t Connect(const char* thread, Family family, const IpAddr& ip, uint16_t port) {
    std::istringstream answer(
        Do(fmt::format("connect {} {} {} {}", thread, NameOf(family), ip.ToString(), port)));
    uint16_t source = 0;
    answer >> source;
    return source;
  }
  uint32_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  Fd to_;
  FILE* from_ = nullptr;
};

class ProbeTest : public testing::Test {
 protected:
  void SetUp() override {
    envoy_ = Installed("envoy");
    lab_.server.Run([&] {
      server_v4_ = Listen(Family::kV4, 8080);
      server_v6_ = Listen(Family::kV6, 8081);
    });
  }

  // The stand-in under another name; it lies beside this test.
  static std::string Installed(const std::string& name) {
    return std::filesystem::canonical("/proc/self/exe").parent_path() / "named" / name;
  }

  void StartProbe(const ProbeOptions& options = {}) {
    absl::StatusOr<std::unique_ptr<Probe>> probe = Probe::Start(options, SystemClock().Now());
    ASSERT_TRUE(probe.ok()) << probe.status();
    probe_ = *std::move(probe);
    Consume();
  }

  // Other namespaces of this machine may hold proxies of their own: they are none of the test's.
  void Consume(BootTime now = SystemClock().Now()) {
    probe_->Consume(now, [&](ProbeOutput output) { Keep(std::move(output)); });
  }
  void Keep(ProbeOutput output) {
    if (auto* attempt = std::get_if<Attempt>(&output)) {
      if (attempt->netns_cookie == lab_.client.cookie()) attempts_.push_back(*attempt);
    } else if (auto* proxy = std::get_if<DiscoveredProxy>(&output)) {
      if (proxy->proxy.netns_cookie == lab_.client.cookie()) proxies_.push_back(*proxy);
    } else {
      losses_.push_back(std::get<Loss>(output));
    }
  }

  const Attempt* AttemptFrom(uint16_t source_port) const {
    for (const Attempt& attempt : attempts_) {
      if (attempt.source.port == source_port) return &attempt;
    }
    return nullptr;
  }
  Initiator InitiatorOf(uint16_t source_port) {
    const bool seen = WaitFor([&] {
      Consume();
      return AttemptFrom(source_port) != nullptr;
    });
    return seen ? AttemptFrom(source_port)->initiator : Initiator::kUnspecified;
  }
  bool WaitForProxies(size_t count) {
    return WaitFor([&] {
      Consume();
      return proxies_.size() >= count;
    });
  }

  // An application's connection in the client's namespace, from `source_port` if not 0.
  uint16_t ConnectAsApplication(Family family, const IpAddr& ip, uint16_t port,
                                uint16_t source_port = 0) {
    Fd fd;
    lab_.client.Run([&] {
      fd = TcpSocket(family, true);
      if (source_port != 0) {
        SetOption(fd, SOL_SOCKET, SO_REUSEADDR, 1);
        const SocketAddress from = ToSockaddr(family, lab_.Client(family), source_port);
        ASSERT_EQ(bind(fd.get(), from.get(), from.size), 0);
      }
      ASSERT_EQ(phantomd::Connect(fd, family, ip, port), 0);
    });
    const uint16_t out = LocalPort(fd);
    kept_.push_back(std::move(fd));
    return out;
  }

  NetworkLab lab_;
  std::string envoy_;
  Fd server_v4_;  // port 8080
  Fd server_v6_;  // port 8081
  std::vector<Fd> kept_;
  std::unique_ptr<Probe> probe_;
  std::vector<Attempt> attempts_;
  std::vector<DiscoveredProxy> proxies_;
  std::vector<Loss> losses_;
};

TEST_F(ProbeTest, FirstConnectOfANewProxyIsSeen) {
  StartProbe();
  const std::string server = lab_.Server(Family::kV4).ToString();
  uint32_t pid = 0;
  {
    FakeProxy proxy(envoy_, lab_.client, {"-c", "/etc/envoy.json"}, fmt::format("v4 {} 9", server));
    pid = proxy.pid();
    proxy.Do("listen v4 0");  // answered once the first connect is over
  }
  // Nothing has been read so far, and the process is gone.
  ASSERT_TRUE(WaitForProxies(2));
  EXPECT_FALSE(proxies_[0].gone);
  EXPECT_THAT(proxies_[0].proxy.process_ids, testing::ElementsAre(pid));
  EXPECT_TRUE(proxies_[1].gone);
  ASSERT_EQ(attempts_.size(), 1u);
  EXPECT_EQ(attempts_[0].outcome, Outcome::kRefused);
  EXPECT_EQ(attempts_[0].initiator, Initiator::kProxy);
  EXPECT_EQ(attempts_[0].process_id, pid);
  EXPECT_EQ(attempts_[0].proxy_id, proxies_[0].proxy.id);
}

TEST_F(ProbeTest, RunningProxyIsFoundByTheScan) {
  FakeProxy proxy(envoy_, lab_.client,
                  {"--config-path", "/etc/envoy/bootstrap.json", "--base-id", "3"});
  proxy.Do("listen v4 0");
  StartProbe();
  ASSERT_TRUE(WaitForProxies(1));
  const DiscoveredProxy& found = proxies_[0];
  EXPECT_FALSE(found.proxy.id.empty());
  EXPECT_EQ(found.proxy.role, ProxyRole::kStandalone);
  EXPECT_EQ(found.proxy.netns_cookie, lab_.client.cookie());
  EXPECT_EQ(found.bootstrap_path,
            fmt::format("/proc/{}/root/etc/envoy/bootstrap.json", proxy.pid()));
  const uint16_t source = proxy.Connect("worker", Family::kV4, lab_.Server(Family::kV4), 8080);
  EXPECT_EQ(InitiatorOf(source), Initiator::kProxy);
  // The scan and the kernel mean the same cgroup.
  EXPECT_EQ(AttemptFrom(source)->cgroup_id, found.proxy.cgroup_id);
  EXPECT_TRUE(losses_.empty());
}

TEST_F(ProbeTest, EndOfAProxyIsTold) {
  StartProbe();
  {
    FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
    ASSERT_TRUE(WaitForProxies(1));
  }
  ASSERT_TRUE(WaitForProxies(2));
  EXPECT_TRUE(proxies_[1].gone);
  EXPECT_EQ(proxies_[1].proxy.id, proxies_[0].proxy.id);
}

TEST_F(ProbeTest, MainThreadIsControlAndWorkersAreTheProxy) {
  StartProbe();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  FakeProxy agent(Installed("pilot-agent"), lab_.client, {"proxy", "sidecar"});
  const IpAddr server = lab_.Server(Family::kV4);
  EXPECT_EQ(InitiatorOf(proxy.Connect("main", Family::kV4, server, 8080)),
            Initiator::kProxyControl);
  EXPECT_EQ(InitiatorOf(proxy.Connect("worker", Family::kV4, server, 8080)), Initiator::kProxy);
  EXPECT_EQ(InitiatorOf(agent.Connect("worker", Family::kV4, server, 8080)),
            Initiator::kProxyControl);
  ASSERT_FALSE(proxies_.empty());
  for (const Attempt& attempt : attempts_) EXPECT_EQ(attempt.proxy_id, proxies_[0].proxy.id);
}

class RedirectTest : public ProbeTest, public testing::WithParamInterface<Family> {
 protected:
  void SetUp() override {
    ProbeTest::SetUp();
    // As Istio does it, for port 8080 and 8081 only and for everybody but the proxy.
    lab_.client.Shell(fmt::format(
        "nft add table inet mesh;"
        "nft 'add chain inet mesh out {{ type nat hook output priority -100; }}';"
        "nft add rule inet mesh out meta skuid != {} tcp dport 8080-8081 redirect to :15001",
        kProxyUid));
    lab_.server.Run([&] { direct_ = Listen(GetParam(), 9000); });
    StartProbe();
  }
  Fd direct_;  // port 9000, not redirected
};

TEST_P(RedirectTest, RedirectedConnectionIsIntercepted) {
  const Family family = GetParam();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  proxy.Do(fmt::format("listen {} 15001", NameOf(family)));
  // The same source port twice, to be told apart by the handshake alone.
  const uint16_t redirected = ConnectAsApplication(family, lab_.Server(family), 8080, 41000);
  EXPECT_EQ(InitiatorOf(redirected), Initiator::kIntercepted);
  EXPECT_EQ(AttemptFrom(redirected)->destination, (SocketAddr{lab_.Server(family), 8080}));
  attempts_.clear();
  const uint16_t direct = ConnectAsApplication(family, lab_.Server(family), 9000, 41000);
  EXPECT_EQ(InitiatorOf(direct), Initiator::kApplication);
  EXPECT_EQ(AttemptFrom(direct)->proxy_id, proxies_.at(0).proxy.id);
  // Refused by the destination itself: nobody answered for it.
  attempts_.clear();
  lab_.client.Run([&] {
    EXPECT_EQ(Connect(TcpSocket(family, true), family, lab_.Server(family), 9), ECONNREFUSED);
  });
  ASSERT_TRUE(WaitFor([&] {
    Consume();
    return !attempts_.empty();
  }));
  EXPECT_EQ(attempts_[0].initiator, Initiator::kApplication);
}

TEST_P(RedirectTest, ConnectionBackToTheApplicationItselfIsNotIntercepted) {
  const Family family = GetParam();
  const bool v6 = family == Family::kV6;
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  proxy.Do(fmt::format("listen {} 15001", NameOf(family)));
  // A Service's address that leads to the pod that asks.
  lab_.client.Shell(fmt::format("nft add rule inet mesh out {} daddr {} dnat {} to {}",
                                v6 ? "ip6" : "ip", v6 ? "fd77::77" : "10.77.0.77",
                                v6 ? "ip6" : "ip", lab_.Client(family).ToString()));
  Fd own;
  lab_.client.Run([&] { own = Listen(family, 9500); });
  const IpAddr service = *IpAddr::Parse(v6 ? "fd77::77" : "10.77.0.77");
  EXPECT_EQ(InitiatorOf(ConnectAsApplication(family, service, 9500)), Initiator::kApplication);
}

INSTANTIATE_TEST_SUITE_P(Families, RedirectTest, testing::ValuesIn(kFamilies),
                         [](const auto& info) { return NameOf(info.param); });

TEST_F(ProbeTest, NothingIsHeldBackAtTheEnd) {
  StartProbe();
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  ASSERT_TRUE(WaitForProxies(1));  // its namespace is watched from its exec on, not from its fork
  const uint16_t source = ConnectAsApplication(Family::kV4, lab_.Server(Family::kV4), 8080);
  const BootTime connected = SystemClock().Now();
  Consume(connected);
  EXPECT_EQ(AttemptFrom(source), nullptr);  // somebody may yet have accepted it
  probe_->Finish(connected, [&](ProbeOutput output) { Keep(std::move(output)); });
  ASSERT_NE(AttemptFrom(source), nullptr);
  EXPECT_EQ(AttemptFrom(source)->initiator, Initiator::kApplication);
}

TEST_F(ProbeTest, NamespaceOfAFalseProxyIsForgotten) {
  StartProbe();
  FakeProxy gateway(Installed("envoy-gateway"), lab_.client, {"server"});
  const IpAddr server = lab_.Server(Family::kV4);
  gateway.Connect("worker", Family::kV4, server, 9);
  Consume();
  EXPECT_TRUE(proxies_.empty());
  const BootTime now = SystemClock().Now();
  Consume(now + std::chrono::seconds(11));
  Consume(now + std::chrono::seconds(80));
  attempts_.clear();
  gateway.Connect("worker", Family::kV4, server, 9);
  Consume(now + std::chrono::seconds(81));
  EXPECT_TRUE(attempts_.empty());
}

// The host's own namespace holds far more than the proxies: there they are told by their processes,
// and by their cgroups where these are known.
class HostNetworkTest : public ProbeTest {
 protected:
  ProbeOptions Options() const {
    ProbeOptions options;
    options.kernel.host_netns_cookie = lab_.client.cookie();  // stands for the host's
    return options;
  }
};

TEST_F(HostNetworkTest, OnlyProxiesAreRecorded) {
  for (const char* cgroup2_root : {"", "/nonexistent"}) {
    attempts_.clear();
    proxies_.clear();
    FakeProxy before(envoy_, lab_.client, {"-c", "x", "--disable-hot-restart"});
    before.Do("listen v4 0");
    ProbeOptions options = Options();
    options.discovery.cgroup2_root = cgroup2_root;
    StartProbe(options);
    FakeProxy after(envoy_, lab_.client, {"-c", "y", "--disable-hot-restart"});
    FakeProxy other(Installed("envoy-gateway"), lab_.client, {"server"});
    ASSERT_TRUE(WaitForProxies(2));
    const IpAddr server = lab_.Server(Family::kV4);
    const uint16_t of_other = other.Connect("worker", Family::kV4, server, 8080);
    const uint16_t of_test = ConnectAsApplication(Family::kV4, server, 8080);
    for (FakeProxy* proxy : {&before, &after}) {
      const uint16_t source = proxy->Connect("worker", Family::kV4, server, 8080);
      EXPECT_EQ(InitiatorOf(source), Initiator::kProxy);
      EXPECT_EQ(AttemptFrom(source)->process_id, proxy->pid());
    }
    EXPECT_EQ(AttemptFrom(of_other), nullptr);
    EXPECT_EQ(AttemptFrom(of_test), nullptr);
    EXPECT_THAT(probe_->Limitations(), Not(Contains(HasSubstr("cgroup"))));
  }
}

TEST_F(ProbeTest, LossIsTold) {
  ProbeOptions options;
  options.kernel.ring_bytes = getpagesize();
  absl::StatusOr<std::unique_ptr<Probe>> probe = Probe::Start(options, SystemClock().Now());
  ASSERT_TRUE(probe.ok()) << probe.status();
  probe_ = *std::move(probe);
  FakeProxy proxy(envoy_, lab_.client, {"-c", "x"});
  Consume();
  const BootTime before = SystemClock().Now();
  constexpr uint64_t kConnects = 200;
  for (uint64_t i = 0; i < kConnects; ++i) {
    proxy.Connect("worker", Family::kV4, lab_.Server(Family::kV4), 9);
  }
  attempts_.clear();
  losses_.clear();
  Consume();
  const auto loss = std::find_if(losses_.begin(), losses_.end(),
                                 [](const Loss& l) { return l.what == "attempt"; });
  ASSERT_NE(loss, losses_.end());
  // Namespaces of other proxies on this machine may have lost some too.
  EXPECT_GE(loss->count + attempts_.size(), kConnects);
  EXPECT_LT(attempts_.size(), kConnects);
  EXPECT_LE(loss->from, before);
  EXPECT_GE(loss->to, before);
  EXPECT_THAT(probe_->Totals(), Contains(testing::Field(&ProbeTotal::lost, loss->count)));
}

}  // namespace
}  // namespace phantomd
