// EnvoyEdge and a real Envoy: bootstrap file, identity, belief, and a withdrawal by EDS.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/base/temporary_folder.h"
#include "tests/envoy/edge_harness.h"
#include "tests/testing/envoy_binary.h"

namespace phantomd {
namespace {

namespace fs = std::filesystem;

constexpr char kCluster[] = "outbound|8080||catalog.shop.svc.cluster.local";

// An Envoy with one EDS cluster of three endpoints, in a directory of its own.
class RealEnvoyTest : public testing::TemporaryFolder {
 protected:
  void SetUp() override {
    const std::string binary = testing::EnvoyBinary();
    ASSERT_FALSE(binary.empty()) << "no Envoy: deploy/install-packages fetches it";
    WriteEndpoints({"127.0.0.11", "127.0.0.12", "127.0.0.13"});
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (chdir(path().c_str()) != 0) _exit(1);
      execl(binary.c_str(), "envoy", "-c", "bootstrap.yaml", "--use-dynamic-base-id",
            "--concurrency", "1", "-l", "off", nullptr);
      _exit(2);
    }
  }
  void TearDown() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }

  void WriteEndpoints(const std::vector<std::string>& addresses) {
    std::string endpoints;
    for (const std::string& address : addresses) {
      if (!endpoints.empty()) endpoints += ",";
      endpoints += fmt::format(
          R"({{"endpoint":{{"address":{{"socket_address":{{"address":"{}","port_value":8080}}}}}},)"
          R"("metadata":{{"filter_metadata":{{"istio":{{"workload":"catalog;shop;catalog;v1;east"}}}}}}}})",
          address);
    }
    std::ofstream(PathOf("eds.part")) << fmt::format(
        R"({{"resources":[{{"@type":"type.googleapis.com/envoy.config.endpoint.v3.)"
        R"(ClusterLoadAssignment","cluster_name":"{}","endpoints":[{{"lb_endpoints":[{}]}}]}}]}})",
        kCluster, endpoints);
    if (fs::exists(PathOf("bootstrap.yaml"))) {
      fs::rename(PathOf("eds.part"), PathOf("eds.json"));  // Envoy watches for a move
      return;
    }
    fs::rename(PathOf("eds.part"), PathOf("eds.json"));
    std::ofstream(PathOf("bootstrap.yaml")) << fmt::format(
        R"(node: {{id: "sidecar~10.0.0.5~webapp-0.shop~shop.svc.cluster.local", cluster: webapp}}
admin:
  address:
    socket_address: {{address: 127.0.0.1, port_value: {}}}
static_resources:
  listeners:
  - name: tls
    address: {{socket_address: {{address: 127.0.0.1, port_value: 0}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.tcp_proxy
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.tcp_proxy.v3.TcpProxy
          stat_prefix: tls
          cluster: "{}"
  clusters:
  - name: "{}"
    type: EDS
    connect_timeout: 1s
    eds_cluster_config: {{eds_config: {{path_config_source: {{path: {}/eds.json}}}}}}
)",
        testing::FreePort(), kCluster, kCluster, path());
  }

  pid_t pid_ = -1;
};

TEST_F(RealEnvoyTest, BeliefIsFollowedFromTheBootstrapToAWithdrawalByEds) {
  EnvoyEdgeOptions options;
  options.admin_ports.clear();  // another Envoy of this machine may be at a usual port
  EdgeHarness harness(options, SocketsOfProcess);
  AdminTarget target;
  target.proxy.id = ProxyId("real");
  target.pid = pid_;
  target.bootstrap_path = "bootstrap.yaml";  // relative to its working directory
  harness.Register(target);
  const auto has_cluster = [](const BeliefSnapshot& snapshot) {
    return snapshot.error.empty() && !snapshot.clusters.empty() &&
           snapshot.clusters[0].endpoints.size() == 3;
  };
  PollDemand demand;
  demand.proxies[ProxyId("real")].fast = true;
  harness.Demand(demand);
  const auto first = harness.NextSnapshot(has_cluster);
  ASSERT_TRUE(first.has_value());
  const BeliefSnapshot::Cluster& cluster = first->clusters[0];
  EXPECT_EQ(cluster.name, kCluster);
  EXPECT_EQ(cluster.service, "shop/catalog");
  EXPECT_EQ(cluster.discovery, Discovery::kEds);
  EXPECT_EQ(cluster.layer, Layer::kL4);
  EXPECT_TRUE(cluster.updated.is_set()) << "plain Envoy keeps update_time";
  for (const auto& endpoint : cluster.endpoints) {
    EXPECT_TRUE(endpoint.in_assignment);
    EXPECT_EQ(endpoint.workload, "shop/catalog");
    EXPECT_EQ(endpoint.mesh_cluster, "east");
  }
  ASSERT_FALSE(harness.proxies().empty());
  EXPECT_EQ(harness.proxies()[0].proxy.name, "shop/webapp-0");
  EXPECT_EQ(harness.proxies()[0].proxy.envoy_version, "1.40.0");

  WriteEndpoints({"127.0.0.12", "127.0.0.13", "127.0.0.14"});
  const auto changed = harness.NextSnapshot([](const BeliefSnapshot& snapshot) {
    return snapshot.error.empty() && !snapshot.clusters.empty();
  });
  ASSERT_TRUE(changed.has_value());
  EXPECT_FALSE(changed->complete);
  std::vector<std::string> addresses;
  for (const auto& endpoint : changed->clusters[0].endpoints) {
    addresses.push_back(endpoint.address.ToString());
    EXPECT_TRUE(endpoint.in_assignment) << addresses.back();
    EXPECT_EQ(endpoint.workload, "shop/catalog") << addresses.back();
  }
  EXPECT_THAT(addresses,
              ::testing::ElementsAre("127.0.0.12:8080", "127.0.0.13:8080", "127.0.0.14:8080"));
  EXPECT_GT(changed->clusters[0].updated, cluster.updated);
}

}  // namespace
}  // namespace phantomd
