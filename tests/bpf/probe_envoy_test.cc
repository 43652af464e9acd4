// A real Envoy under the probe: its threads, a hot restart, another name.
//
// Not in the emulated kernels: there is no Envoy.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>

#include "agent/base/check.h"
#include "tests/base/temporary_folder.h"
#include "tests/bpf/probe_fixture.h"
#include "tests/testing/envoy_binary.h"

namespace phantomd {
namespace {

using ::testing::UnorderedElementsAre;

namespace fs = std::filesystem;

constexpr uint16_t kInbound = 10000;  // where Envoy listens; each connection makes it connect

class RealEnvoyProbeTest : public ProbeTest {
 protected:
  void SetUp() override {
    ProbeTest::SetUp();
    binary_ = testing::EnvoyBinary();
    ASSERT_FALSE(binary_.empty()) << "no Envoy: deploy/install-packages fetches it";
    std::ofstream(folder_ / "bootstrap.yaml") << fmt::format(
        R"(admin: {{address: {{socket_address: {{address: 127.0.0.1, port_value: 15000}}}}}}
static_resources:
  listeners:
  - name: tls
    address: {{socket_address: {{address: 127.0.0.1, port_value: {}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.tcp_proxy
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
          stat_prefix: tls
          cluster: catalog
  clusters:
  - name: catalog
    type: STATIC
    connect_timeout: 1s
    load_assignment:
      cluster_name: catalog
      endpoints:
      - lb_endpoints:
        - endpoint: {{address: {{socket_address: {{address: {}, port_value: 8080}}}}}}
    health_checks:
    - timeout: 1s
      interval: 0.1s
      no_traffic_interval: 0.1s
      unhealthy_threshold: 1
      healthy_threshold: 1
      reuse_connection: false
      tcp_health_check: {{}}
)",
        kInbound, lab_.Server(Family::kV4).ToString());
  }
  void TearDown() override {
    while (!envoys_.empty()) End(envoys_.front());
  }

  pid_t StartEnvoy(const std::string& program, int epoch) {
    const std::string base_id = std::to_string(getpid() % 30'000);
    const std::string epoch_text = std::to_string(epoch);
    const pid_t pid = fork();
    PHANTOMD_CHECK(pid >= 0);
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (chdir(folder_.path().c_str()) != 0 || setns(lab_.client.fd(), CLONE_NEWNET) != 0) {
        _exit(1);
      }
      execl(program.c_str(), "envoy", "-c", "bootstrap.yaml", "--base-id", base_id.c_str(),
            "--restart-epoch", epoch_text.c_str(), "--concurrency", "2", "--drain-time-s", "1",
            "--parent-shutdown-time-s", "600", "-l", "off", nullptr);
      _exit(2);
    }
    envoys_.push_back(pid);
    return pid;
  }
  void End(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    envoys_.remove(pid);
  }

  bool Accepts() {
    bool out = false;
    lab_.client.Run([&] {
      Fd fd = TcpSocket(Family::kV4, true);
      out = Connect(fd, Family::kV4, IpAddr::V4(127, 0, 0, 1), kInbound) == 0;
      kept_.push_back(std::move(fd));
    });
    return out;
  }
  // A client's connection through Envoy makes one to the server: by this process's worker.
  bool ServesThrough(pid_t pid, BootTime now = BootTime()) {
    return WaitFor([&] {
      Accepts();
      Consume(now.is_set() ? now : SystemClock().Now());
      return AttemptOf(pid, Initiator::kProxy) != nullptr;
    });
  }
  const Attempt* AttemptOf(pid_t pid, Initiator initiator) const {
    for (const Attempt& attempt : attempts_) {
      if (attempt.process_id == static_cast<uint32_t>(pid) && attempt.initiator == initiator) {
        return &attempt;
      }
    }
    return nullptr;
  }
  bool ChecksHealth(pid_t pid) {
    return WaitFor([&] {
      Consume();
      return AttemptOf(pid, Initiator::kProxyControl) != nullptr;
    });
  }

  testing::TempFolder folder_;
  std::string binary_;
  std::list<pid_t> envoys_;
};

TEST_F(RealEnvoyProbeTest, WorkersAndMainThreadOfBothEpochsAreToldApart) {
  StartProbe();
  const pid_t parent = StartEnvoy(binary_, 0);
  ASSERT_TRUE(ServesThrough(parent));
  EXPECT_TRUE(ChecksHealth(parent));
  ASSERT_EQ(proxies_.size(), 1u);
  EXPECT_EQ(proxies_[0].bootstrap_path, fmt::format("/proc/{}/cwd/bootstrap.yaml", parent));
  const pid_t child = StartEnvoy(binary_, 1);
  ASSERT_TRUE(ServesThrough(child));
  EXPECT_TRUE(ChecksHealth(child));
  ASSERT_EQ(proxies_.size(), 2u);
  EXPECT_EQ(proxies_[1].proxy.id, proxies_[0].proxy.id);
  EXPECT_EQ(proxies_[1].process_id, static_cast<uint32_t>(child));
  EXPECT_THAT(proxies_[1].proxy.process_ids,
              UnorderedElementsAre(static_cast<uint32_t>(parent), static_cast<uint32_t>(child)));
  // The parent drains; whatever it still connects to is its own.
  attempts_.clear();
  EXPECT_TRUE(ChecksHealth(child));
  for (const Attempt& attempt : attempts_) {
    EXPECT_EQ(attempt.proxy_id, proxies_[0].proxy.id);
    EXPECT_EQ(attempt.destination, (SocketAddr{lab_.Server(Family::kV4), 8080}));
    EXPECT_EQ(attempt.initiator == Initiator::kProxyControl,
              attempt.thread_id == attempt.process_id);
  }
  End(parent);
  ASSERT_TRUE(WaitForProxies(3));
  EXPECT_FALSE(proxies_[2].gone);
  EXPECT_TRUE(ServesThrough(child));
}

TEST_F(RealEnvoyProbeTest, AnotherNameHidesItUntilTheNextScanAlone) {
  StartProbe();
  const std::string renamed = folder_ / "sidecar-proxy";
  fs::copy_file(binary_, renamed);
  const pid_t envoy = StartEnvoy(renamed, 0);
  ASSERT_TRUE(WaitFor([&] { return Accepts(); }));
  now_ = SystemClock().Now() + std::chrono::seconds(11);
  Consume(now_);
  ASSERT_EQ(proxies_.size(), 1u);
  EXPECT_EQ(proxies_[0].process_id, static_cast<uint32_t>(envoy));
  EXPECT_TRUE(ServesThrough(envoy, now_));
}

}  // namespace
}  // namespace phantomd
