// Every decoder of admin answers on what a real Envoy printed: what it says, the forms it may take,
// and the answer cut at every byte.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "agent/envoy/config_dump.h"
#include "agent/envoy/host_sets.h"
#include "agent/envoy/server_info.h"
#include "tests/envoy/print_views.h"
#include "tests/envoy/samples.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kCatalogHttp[] = "outbound|8080||catalog.shop.svc.cluster.local";
constexpr char kCatalogTls[] = "outbound|8443||catalog.shop.svc.cluster.local";
constexpr char kCart[] = "outbound|9000|v2|cart.shop.svc.cluster.local";

const HostSets::Cluster& ClusterOf(const HostSets& sets, std::string_view name) {
  const auto it = std::find_if(sets.clusters.begin(), sets.clusters.end(),
                               [&](const auto& cluster) { return cluster.name == name; });
  EXPECT_NE(it, sets.clusters.end()) << name;
  return *it;
}

const ClusterConfig& ClusterOf(const ConfigDump& dump, std::string_view name) {
  const auto it = std::find_if(dump.clusters.begin(), dump.clusters.end(),
                               [&](const auto& cluster) { return cluster.name == name; });
  EXPECT_NE(it, dump.clusters.end()) << name;
  return *it;
}

const EndpointAssignment& AssignmentOf(const ConfigDump& dump, std::string_view name) {
  const auto it = std::find_if(dump.assignments.begin(), dump.assignments.end(),
                               [&](const auto& one) { return one.cluster_name == name; });
  EXPECT_NE(it, dump.assignments.end()) << name;
  return *it;
}

TEST(ServerInfoTest, TellsVersionStateNodeAndUptime) {
  const auto info = DecodeServerInfo(Sample("server_info.json"));
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->version, "1.40.0");
  EXPECT_EQ(info->state, ServerState::kLive);
  EXPECT_EQ(info->node_id, "sidecar~10.0.0.5~webapp-0.shop~shop.svc.cluster.local");
  EXPECT_EQ(info->uptime, std::chrono::seconds(4));
}

TEST(ServerInfoTest, AbsentStateIsLive) {
  const auto info = DecodeServerInfo(R"({"version": "a/1.20.1/Clean/RELEASE/BoringSSL"})");
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->state, ServerState::kLive);
  EXPECT_EQ(info->version, "1.20.1");
}

TEST(ServerInfoTest, AnotherServersAnswerIsAnError) {
  for (const char* answer : {"", "{}", "[]", "null", "\"version\"", "<html>", R"({"version": 3})",
                             R"({"version": "x", "state": "SLEEPING"})",
                             R"({"version": "x", "uptime_current_epoch": "soon"})", "\xff\xfe"}) {
    const auto info = DecodeServerInfo(answer);
    EXPECT_FALSE(info.ok()) << answer;
    EXPECT_THAT(info.status().ToString(), HasSubstr("/server_info")) << answer;
  }
}

TEST(HostSetsTest, CountsFlagsAndAddressesOfEachHost) {
  const auto sets = DecodeHostSets(Sample("clusters.json"));
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(sets->clusters.size(), 10u);
  const HostSets::Cluster& http = ClusterOf(*sets, kCatalogHttp);
  ASSERT_EQ(http.hosts.size(), 3u);
  EXPECT_EQ(http.hosts[0].address.ToString(), "127.0.0.11:18080");
  EXPECT_EQ(http.hosts[2].address.ToString(), "127.0.0.13:18080");
  EXPECT_TRUE(http.hosts[2].failed_active_health_check);
  EXPECT_FALSE(http.hosts[0].failed_active_health_check);
  EXPECT_GE(http.hosts[0].connects + http.hosts[1].connects, 2u);
  EXPECT_EQ(http.hosts[0].connect_failures, 0u);
  EXPECT_FALSE(http.hosts[0].pending_removal);
  EXPECT_EQ(ClusterOf(*sets, "eds_renamed").eds_service_name, kCatalogTls);
}

TEST(HostSetsTest, HeldHostIsMarked) {
  const auto sets = DecodeHostSets(Sample("clusters_held.json"));
  ASSERT_TRUE(sets.ok()) << sets.status();
  const HostSets::Cluster& http = ClusterOf(*sets, kCatalogHttp);
  ASSERT_EQ(http.hosts.size(), 3u);
  EXPECT_TRUE(http.hosts[0].pending_removal);
  EXPECT_FALSE(http.hosts[1].pending_removal);
}

TEST(HostSetsTest, TunnelledHostIsIndexedByItsEndpointId) {
  const auto sets = DecodeHostSets(Sample("clusters.json"));
  ASSERT_TRUE(sets.ok()) << sets.status();
  const HostSets::Cluster& cart = ClusterOf(*sets, kCart);
  ASSERT_EQ(cart.hosts.size(), 1u);
  EXPECT_EQ(cart.hosts[0].address.ToString(), "10.0.0.21:9000");
  EXPECT_TRUE(cart.hosts[0].tunnelled);
}

TEST(HostSetsTest, InternalAddressBesideTheAddressIsRead) {
  const auto sets = DecodeHostSets(
      R"({"cluster_statuses":[{"name":"c","host_statuses":[{"address":{},)"
      R"("envoy_internal_address":{"server_listener_name":"connect_originate",)"
      R"("endpoint_id":"[fd00::1]:80"},"stats":[{"name":"cx_total","value":7}]}]}]})");
  ASSERT_TRUE(sets.ok()) << sets.status();
  ASSERT_EQ(sets->clusters[0].hosts.size(), 1u);
  EXPECT_EQ(sets->clusters[0].hosts[0].address.ToString(), "[fd00::1]:80");
  EXPECT_EQ(sets->clusters[0].hosts[0].connects, 7u);
}

TEST(HostSetsTest, PipeIsNoAddress) {
  const auto sets = DecodeHostSets(Sample("clusters.json"));
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_EQ(ClusterOf(*sets, "static_one").hosts.size(), 1u);
}

TEST(HostSetsTest, EnvoyWithoutClustersPrintsAnEmptyObject) {
  const auto sets = DecodeHostSets("{}");
  ASSERT_TRUE(sets.ok()) << sets.status();
  EXPECT_THAT(sets->clusters, IsEmpty());
}

TEST(HostSetsTest, RubbishIsAnErrorThatNamesThePlace) {
  const std::map<std::string, std::string> answers = {
      {R"({"error": "not here"})", "no cluster_statuses"},
      {R"({"cluster_statuses": 7})", "cluster_statuses"},
      {R"({"cluster_statuses": [{"host_statuses": []}]})", "cluster_statuses.name"},
      {R"({"cluster_statuses": [{"name": "c", "host_statuses": [{"address": {"socket_address": )"
       R"({"address": "10.0.0.1", "port_value": 70000}}}]}]})",
       "port_value"},
      {R"({"cluster_statuses": [{"name": "c", "host_statuses": [{"stats": [{"name": "cx_total", )"
       R"("value": "many"}]}]}]})",
       "stats.value"},
      {R"({"cluster_statuses": []} {})", "/clusters"},
      {"no healthy upstream", "/clusters"},
  };
  for (const auto& [answer, place] : answers) {
    const auto sets = DecodeHostSets(answer);
    ASSERT_FALSE(sets.ok()) << answer;
    EXPECT_THAT(sets.status().ToString(), HasSubstr(place)) << answer;
  }
}

TEST(ConfigDumpTest, ClustersSayHowTheyLearnEndpointsAndWhichServiceTheyMean) {
  const auto dump = DecodeConfigDump(Sample("config_dump.json"));
  ASSERT_TRUE(dump.ok()) << dump.status();
  struct Row {
    const char* name;
    Discovery discovery;
    const char* service;
    bool from_bootstrap;
  };
  for (const Row& row : {
           Row{kCatalogHttp, Discovery::kEds, "shop/catalog", false},
           Row{kCart, Discovery::kEds, "shop/cart", false},
           Row{"outbound|443||localhost", Discovery::kStrictDns, "", false},
           Row{"outbound|444||localhost", Discovery::kLogicalDns, "", false},
           Row{"PassthroughCluster", Discovery::kOriginalDst, "", false},
           Row{"BlackHoleCluster", Discovery::kStatic, "", false},
           Row{"static_one", Discovery::kStatic, "", true},
           Row{"dfp", Discovery::kCustom, "", false},
           Row{"eds_renamed", Discovery::kEds, "shop/catalog", true},
       }) {
    const ClusterConfig& cluster = ClusterOf(*dump, row.name);
    EXPECT_EQ(cluster.discovery, row.discovery) << row.name;
    EXPECT_EQ(cluster.service, row.service) << row.name;
    EXPECT_EQ(cluster.from_bootstrap, row.from_bootstrap) << row.name;
  }
  EXPECT_EQ(ClusterOf(*dump, kCatalogHttp).stat_name, std::string(kCatalogHttp) + ";");
}

TEST(ConfigDumpTest, LayerIsThatOfTheChainsAndRoutesThatLeadThere) {
  // Without the route that takes its cluster from a header, which may lead anywhere.
  std::string bytes = Sample("config_dump.json");
  const size_t header = bytes.find("\"cluster_header\"");
  ASSERT_NE(header, std::string::npos);
  bytes.replace(header, 16, "\"retired_header\"");
  const auto dump = DecodeConfigDump(bytes);
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(ClusterOf(*dump, kCatalogHttp).layer, Layer::kL7);
  EXPECT_EQ(ClusterOf(*dump, kCart).layer, Layer::kL7) << "weighted clusters of a route";
  EXPECT_EQ(ClusterOf(*dump, kCatalogTls).layer, Layer::kL4) << "SNI filter chain";
  EXPECT_EQ(ClusterOf(*dump, "outbound|443||localhost").layer, Layer::kMixed)
      << "weighted clusters of a TCP proxy, and mirrored to";
  EXPECT_EQ(ClusterOf(*dump, "outbound|444||localhost").layer, Layer::kL4);
  EXPECT_EQ(ClusterOf(*dump, "PassthroughCluster").layer, Layer::kL4) << "default filter chain";
  EXPECT_EQ(ClusterOf(*dump, "static_one").layer, Layer::kL7) << "inline routes";
  EXPECT_EQ(ClusterOf(*dump, "BlackHoleCluster").layer, Layer::kUnspecified);
}

TEST(ConfigDumpTest, ClusterHeaderMayLeadToAnyCluster) {
  const auto dump = DecodeConfigDump(Sample("config_dump.json"));
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(ClusterOf(*dump, "BlackHoleCluster").layer, Layer::kL7);
  EXPECT_EQ(ClusterOf(*dump, kCatalogTls).layer, Layer::kMixed);
}

TEST(ConfigDumpTest, DrainingListenerStillCounts) {
  const std::string bytes = Sample("config_dump_held.json");
  ASSERT_THAT(bytes, HasSubstr("draining_state"));
  const auto dump = DecodeConfigDump(bytes);
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(ClusterOf(*dump, "outbound|444||localhost").layer, Layer::kMixed);
}

TEST(ConfigDumpTest, AssignmentsNameWorkloadClusterHealthAndFurtherAddresses) {
  const auto dump = DecodeConfigDump(Sample("config_dump.json"));
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(dump->assignments.size(), 10u);
  const EndpointAssignment& http = AssignmentOf(*dump, kCatalogHttp);
  ASSERT_EQ(http.endpoints.size(), 3u);
  EXPECT_EQ(http.endpoints[0].address.ToString(), "127.0.0.11:18080");
  EXPECT_EQ(http.endpoints[0].workload, "shop/catalog");
  EXPECT_EQ(http.endpoints[0].mesh_cluster, "Kubernetes");
  EXPECT_EQ(http.endpoints[0].health, EndpointHealth::kHealthy);
  EXPECT_EQ(http.endpoints[2].health, EndpointHealth::kUnhealthy);
  ASSERT_EQ(http.endpoints[2].additional.size(), 1u);
  EXPECT_EQ(http.endpoints[2].additional[0].ToString(), "[::1]:18080");
  const EndpointAssignment& cart = AssignmentOf(*dump, kCart);
  ASSERT_EQ(cart.endpoints.size(), 1u);
  EXPECT_TRUE(cart.endpoints[0].tunnelled);
  EXPECT_EQ(cart.endpoints[0].mesh_cluster, "remote-1");
  EXPECT_THAT(AssignmentOf(*dump, "BlackHoleCluster").endpoints, IsEmpty());
}

TEST(ConfigDumpTest, HeldHostIsStillListed) {
  const auto dump = DecodeConfigDump(Sample("config_dump_held.json"));
  ASSERT_TRUE(dump.ok()) << dump.status();
  EXPECT_EQ(AssignmentOf(*dump, kCatalogHttp).endpoints.size(), 3u);
}

TEST(ConfigDumpTest, DumpOfTheEndpointSectionAloneHasTheSameAssignments) {
  const auto all = DecodeConfigDump(Sample("config_dump_held.json"));
  const auto cut = DecodeConfigDump(Sample("config_dump_eds.json"));
  ASSERT_TRUE(all.ok() && cut.ok()) << all.status() << cut.status();
  EXPECT_THAT(cut->clusters, IsEmpty());
  EXPECT_EQ(Print(*cut), Print(ConfigDump{{}, all->assignments}));
}

TEST(ConfigDumpTest, RubbishIsAnErrorThatNamesThePlace) {
  const std::map<std::string, std::string> answers = {
      {"{}", "no configs"},
      {R"({"configs": {}})", "configs"},
      {R"({"configs": [{"dynamic_active_clusters": [{"cluster": {"type": "EDS"}}]}]})",
       "cluster.name"},
      {R"({"configs": [{"dynamic_endpoint_configs": [{"endpoint_config": {}}]}]})", "cluster_name"},
      {R"({"configs": [{"dynamic_active_clusters": [{"cluster": {"name": ["x"]}}]}]})",
       "cluster.name"},
      {"FieldMask x could not be successfully applied to any configs.", "/config_dump"},
  };
  for (const auto& [answer, place] : answers) {
    const auto dump = DecodeConfigDump(answer);
    ASSERT_FALSE(dump.ok()) << answer;
    EXPECT_THAT(dump.status().ToString(), HasSubstr(place)) << answer;
  }
}

TEST(ConfigDumpTest, NamesInMetadataAndDnsTellTheServiceToo) {
  const auto dump = DecodeConfigDump(
      R"({"configs": [{"dynamic_active_clusters": [)"
      R"({"cluster": {"name": "by-metadata", "metadata": {"filter_metadata": {"istio": )"
      R"({"services": [{"namespace": "shop", "name": "cart", "host": "cart.shop.svc.x.y"}]}}}}},)"
      R"({"cluster": {"name": "entry", "metadata": {"filter_metadata": {"istio": )"
      R"({"services": [{"namespace": "shop", "name": "api", "host": "api.example.com"}]}}}}},)"
      R"({"cluster": {"name": "by-dns", "type": "STRICT_DNS", "load_assignment": {"endpoints": )"
      R"([{"lb_endpoints": [{"endpoint": {"address": {"socket_address": )"
      R"({"address": "web.front.svc.cluster.local", "port_value": 80}}}}]}]}}},)"
      R"({"error_state": {"details": "rejected"}}]}]})");
  ASSERT_TRUE(dump.ok()) << dump.status();
  ASSERT_EQ(dump->clusters.size(), 3u);
  EXPECT_EQ(ClusterOf(*dump, "by-metadata").service, "shop/cart");
  EXPECT_EQ(ClusterOf(*dump, "entry").service, "");
  EXPECT_EQ(ClusterOf(*dump, "by-dns").service, "front/web");
}

// Every sample with its decoder; the printed view stands for the whole decoded answer.
struct Decoder {
  const char* sample;
  std::function<absl::StatusOr<std::string>(std::string_view)> decode;
};

template <typename View>
std::function<absl::StatusOr<std::string>(std::string_view)> Printed(
    absl::StatusOr<View> (*decode)(std::string_view)) {
  return [decode](std::string_view bytes) -> absl::StatusOr<std::string> {
    const absl::StatusOr<View> view = decode(bytes);
    if (!view.ok()) return view.status();
    return Print(*view);
  };
}

class DecoderTest : public ::testing::TestWithParam<Decoder> {};

TEST_P(DecoderTest, AnswerCutAnywhereIsAnErrorOrTheWholeAnswer) {
  const std::string bytes = Compact(Sample(GetParam().sample));
  const auto whole = GetParam().decode(bytes);
  ASSERT_TRUE(whole.ok()) << whole.status();
  for (size_t length = 0; length < bytes.size(); ++length) {
    // A copy of its own size, so that AddressSanitizer sees a read behind the cut.
    const std::string cut(bytes.data(), length);
    const auto view = GetParam().decode(cut);
    ASSERT_FALSE(view.ok()) << "cut at byte " << length << " of " << bytes.size();
  }
}

TEST_P(DecoderTest, PrintedAnswerCutInTheWhiteSpaceBehindItIsWhole) {
  const std::string bytes = Sample(GetParam().sample);
  const size_t end = bytes.find_last_of('}') + 1;
  const auto whole = GetParam().decode(bytes);
  const auto cut = GetParam().decode(bytes.substr(0, end));
  ASSERT_TRUE(whole.ok() && cut.ok());
  EXPECT_EQ(*cut, *whole);
  EXPECT_FALSE(GetParam().decode(bytes.substr(0, end - 1)).ok());
}

TEST_P(DecoderTest, SpellingSpaceAndQuotesOfNumbersChangeNothing) {
  const std::string bytes = Sample(GetParam().sample);
  const auto printed = GetParam().decode(bytes);
  ASSERT_TRUE(printed.ok()) << printed.status();
  for (const std::string& form : {InCamelCase(bytes), Compact(bytes), WithBareCounters(bytes),
                                  Compact(WithBareCounters(InCamelCase(bytes)))}) {
    const auto view = GetParam().decode(form);
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(*view, *printed);
  }
}

TEST_P(DecoderTest, AnyByteChangedNeverCrashes) {
  const std::string bytes = Compact(Sample(GetParam().sample));
  size_t errors = 0;
  constexpr std::string_view kWrong("\"}\\\0{9,", 7);
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = kWrong[at % kWrong.size()];
    errors += GetParam().decode(damaged).ok() ? 0 : 1;
  }
  EXPECT_GT(errors, bytes.size() / 8) << "damage is seen where it breaks the form";
}

INSTANTIATE_TEST_SUITE_P(
    Samples, DecoderTest,
    ::testing::Values(Decoder{"server_info.json", Printed<ServerInfo>(DecodeServerInfo)},
                      Decoder{"clusters_held.json", Printed<HostSets>(DecodeHostSets)},
                      Decoder{"config_dump.json", Printed<ConfigDump>(DecodeConfigDump)}),
    [](const auto& info) {
      std::string name = info.param.sample;
      std::replace_if(
          name.begin(), name.end(), [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

}  // namespace
}  // namespace phantomd
