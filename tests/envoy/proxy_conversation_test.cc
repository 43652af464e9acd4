// The requests that make one poll, and what comes out when each of them goes well or fails.
#include "agent/envoy/proxy_conversation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>

#include "tests/envoy/samples.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kServerInfo[] = "/server_info";
constexpr char kDump[] = "/config_dump?include_eds";
constexpr char kEndpoints[] =
    "/config_dump?include_eds&mask=static_endpoint_configs,dynamic_endpoint_configs";
constexpr char kClusters[] = "/clusters?format=json";
const SocketAddr kFirst = {IpAddr::V4(127, 0, 0, 1), 15000};
const SocketAddr kSecond = {IpAddr::V4(127, 0, 0, 1), 9901};

Proxy Registered() {
  Proxy proxy;
  proxy.id = ProxyId("p");
  proxy.pod.uid = PodUid("uid-1");
  proxy.process_ids = {42};
  return proxy;
}

// Answers each request from a table of path -> body or error, and keeps what was asked.
class ProxyConversationTest : public ::testing::Test {
 protected:
  ProxyConversationTest() {
    answers_[kServerInfo] = Sample("server_info.json");
    answers_[kDump] = Sample("config_dump.json");
    answers_[kEndpoints] = Sample("config_dump_eds.json");
    answers_[kClusters] = Sample("clusters.json");
    answers_[kUpdateTimesPath] = Sample("stats_update_time.json");
  }

  ProxyConversation::Outcome Poll(PollKind kind) {
    asked_.clear();
    conversation_->Begin(kind, now_);
    for (int requests = 0; requests < 20; ++requests) {
      const ProxyConversation::Request request = conversation_->Next();
      asked_.push_back(request.path);
      AdminReply reply;
      reply.requested = now_ += std::chrono::milliseconds(1);
      reply.received = now_ += std::chrono::milliseconds(1);
      const auto refused = refused_at_.find(request.at);
      reply.body = refused != refused_at_.end() ? refused->second : answers_.at(request.path);
      if (request.path == kClusters) clusters_bracket_ = {reply.requested, reply.received};
      auto outcome = conversation_->OnReply(std::move(reply), kWall);
      if (outcome.has_value()) return *std::move(outcome);
    }
    ADD_FAILURE() << "the poll never ends";
    return {};
  }

  // Far behind every update time of the samples.
  static constexpr WallTime kWall = WallTime::FromNanos(2'000'000'000'000'000'000);
  BootTime now_ = BootTime::FromNanos(1'000'000'000);
  std::map<std::string, absl::StatusOr<std::string>> answers_;
  std::map<SocketAddr, absl::Status> refused_at_;
  std::vector<std::string> asked_;
  std::pair<BootTime, BootTime> clusters_bracket_;
  std::optional<ProxyConversation> conversation_{std::in_place, Registered(),
                                                 std::vector<SocketAddr>{kFirst, kSecond}};
};

TEST_F(ProxyConversationTest, FirstPollAsksWhoItIsAndTellsEverything) {
  const auto outcome = Poll(PollKind::kFast);
  EXPECT_TRUE(outcome.status.ok()) << outcome.status;
  EXPECT_THAT(asked_, ElementsAre(kServerInfo, kDump, kClusters, kUpdateTimesPath));
  ASSERT_TRUE(outcome.identity.has_value());
  const Proxy& proxy = outcome.identity->proxy;
  EXPECT_FALSE(outcome.identity->gone);
  EXPECT_EQ(proxy.id, ProxyId("p"));
  EXPECT_EQ(proxy.name, "shop/webapp-0");
  EXPECT_EQ(proxy.role, ProxyRole::kSidecar);
  EXPECT_EQ(proxy.envoy_version, "1.40.0");
  EXPECT_EQ(proxy.admin_address, "127.0.0.1:15000");
  EXPECT_THAT(proxy.process_ids, IsEmpty()) << "who sees its processes tells them";
  EXPECT_FALSE(proxy.process_start.is_set());
  const BeliefSnapshot& snapshot = outcome.snapshot;
  EXPECT_TRUE(snapshot.complete);
  EXPECT_EQ(snapshot.error, "");
  EXPECT_EQ(snapshot.clusters.size(), 10u);
  EXPECT_EQ(std::make_pair(snapshot.requested, snapshot.received), clusters_bracket_)
      << "not the bracket of the whole poll";
  EXPECT_EQ(conversation_->limitation(), "");
}

TEST_F(ProxyConversationTest, FastPollIsOneRequestWhileNothingComes) {
  Poll(PollKind::kSlow);
  const auto outcome = Poll(PollKind::kFast);
  EXPECT_THAT(asked_, ElementsAre(kClusters));
  EXPECT_FALSE(outcome.identity.has_value()) << "nothing new about it";
  EXPECT_FALSE(outcome.snapshot.complete);
  EXPECT_THAT(outcome.snapshot.clusters, IsEmpty());
}

TEST_F(ProxyConversationTest, SlowPollsLookAtLayersAndMetadataOnceAMinute) {
  Poll(PollKind::kSlow);
  const BootTime first = now_;
  for (int i = 0; i < 3; ++i) {
    now_ = now_ + std::chrono::seconds(15);
    Poll(PollKind::kSlow);
    EXPECT_THAT(asked_, ElementsAre(kClusters));
  }
  now_ = first + std::chrono::seconds(60);
  Poll(PollKind::kFast);
  EXPECT_THAT(asked_, ElementsAre(kClusters)) << "it is in a hurry";
  Poll(PollKind::kSlow);
  EXPECT_THAT(asked_, ElementsAre(kDump, kClusters));
  Poll(PollKind::kSlow);
  EXPECT_THAT(asked_, ElementsAre(kClusters));
}

TEST_F(ProxyConversationTest, HeldHostNeedsNoDumpButHasADate) {
  Poll(PollKind::kSlow);
  answers_[kClusters] = Sample("clusters_held.json");
  const auto outcome = Poll(PollKind::kFast);
  EXPECT_THAT(asked_, ElementsAre(kClusters, kUpdateTimesPath));
  ASSERT_EQ(outcome.snapshot.clusters.size(), 1u);
  const BeliefSnapshot::Cluster& cluster = outcome.snapshot.clusters[0];
  EXPECT_EQ(cluster.name, "outbound|8080||catalog.shop.svc.cluster.local");
  EXPECT_TRUE(cluster.updated.is_set());
  ASSERT_EQ(cluster.endpoints.size(), 4u);  // with the further address of the third host
  EXPECT_TRUE(cluster.endpoints[1].pending_removal) << cluster.endpoints[1].address.ToString();
  EXPECT_FALSE(cluster.endpoints[1].in_assignment);
  EXPECT_TRUE(cluster.endpoints[2].in_assignment);
}

// /clusters with one more host in a known cluster.
std::string WithNewHost(std::string clusters) {
  const std::string old_host = "\"127.0.0.12\"";
  const size_t at = clusters.find(old_host);
  EXPECT_NE(at, std::string::npos);
  return clusters.replace(at, old_host.size(), "\"127.0.0.99\"");
}

TEST_F(ProxyConversationTest, NewHostCostsTheEndpointPartOfTheDump) {
  Poll(PollKind::kSlow);
  answers_[kClusters] = WithNewHost(Sample("clusters.json"));
  Poll(PollKind::kFast);
  EXPECT_THAT(asked_, ElementsAre(kClusters, kEndpoints, kUpdateTimesPath));
}

TEST_F(ProxyConversationTest, ReleaseThatRefusesTheMaskIsAskedForTheWholeDump) {
  Poll(PollKind::kSlow);
  answers_[kEndpoints] = absl::FailedPreconditionError("HTTP status 400");
  answers_[kClusters] = WithNewHost(Sample("clusters.json"));
  EXPECT_TRUE(Poll(PollKind::kFast).status.ok());
  EXPECT_THAT(asked_, ElementsAre(kClusters, kEndpoints, kDump, kUpdateTimesPath));
  answers_[kClusters] = Sample("clusters.json");
  EXPECT_TRUE(Poll(PollKind::kFast).status.ok());
  EXPECT_THAT(asked_, ElementsAre(kClusters, kDump, kUpdateTimesPath)) << "and remembered";
}

TEST_F(ProxyConversationTest, StatisticsThatAreNotKeptAreALimitationAndNotAskedForAgain) {
  answers_[kUpdateTimesPath] = "{\"stats\":[]}";
  const auto outcome = Poll(PollKind::kSlow);
  EXPECT_TRUE(outcome.status.ok());
  for (const auto& cluster : outcome.snapshot.clusters) EXPECT_FALSE(cluster.updated.is_set());
  EXPECT_THAT(conversation_->limitation(), HasSubstr("shop/webapp-0 keeps no update_time"));
  answers_[kClusters] = Sample("clusters_held.json");
  Poll(PollKind::kFast);
  EXPECT_THAT(asked_, ElementsAre(kClusters));
}

TEST_F(ProxyConversationTest, EveryFailureIsAFailedSnapshotAndTheNextOneIsWhole) {
  const absl::StatusOr<std::string> kBad[] = {std::string("<html>rubbish"), std::string("{\"con"),
                                              absl::DeadlineExceededError("GET it: too slow")};
  for (const char* path : {kServerInfo, kDump, kClusters, kUpdateTimesPath}) {
    for (const absl::StatusOr<std::string>& bad : kBad) {
      conversation_.emplace(Registered(), std::vector<SocketAddr>{kFirst, kSecond});
      const auto good = answers_.at(path);
      answers_[path] = bad;
      const BootTime begun = now_;
      const auto outcome = Poll(PollKind::kSlow);
      ASSERT_FALSE(outcome.status.ok()) << path;
      EXPECT_EQ(outcome.snapshot.proxy_id, ProxyId("p"));
      EXPECT_NE(outcome.snapshot.error, "");
      EXPECT_THAT(outcome.snapshot.clusters, IsEmpty());
      EXPECT_EQ(outcome.snapshot.requested, begun);
      EXPECT_EQ(outcome.snapshot.received, now_);
      answers_[path] = good;
      const auto next = Poll(PollKind::kFast);
      ASSERT_TRUE(next.status.ok()) << next.status;
      EXPECT_TRUE(next.snapshot.complete);
      EXPECT_EQ(next.snapshot.clusters.size(), 10u);
    }
  }
}

TEST_F(ProxyConversationTest, CandidatesAreTriedUntilOneIsAnEnvoy) {
  refused_at_[kFirst] = absl::UnavailableError("GET http://127.0.0.1:15000: refused");
  const auto outcome = Poll(PollKind::kSlow);
  ASSERT_TRUE(outcome.identity.has_value());
  EXPECT_EQ(outcome.identity->proxy.admin_address, "127.0.0.1:9901");
}

TEST_F(ProxyConversationTest, WhyNoCandidateIsAnEnvoyIsToldOfEach) {
  refused_at_[kFirst] = absl::UnavailableError("GET http://127.0.0.1:15000: refused");
  answers_[kServerInfo] = "<html>";
  const auto outcome = Poll(PollKind::kSlow);
  EXPECT_THAT(outcome.snapshot.error, HasSubstr("127.0.0.1:15000: refused; /server_info"));
  EXPECT_FALSE(conversation_->identified());
}

TEST_F(ProxyConversationTest, ChangedRegistrationIsToldWhereItChangesWhoItIs) {
  answers_[kServerInfo] = R"({"version":"1.40.0","node":{"id":"edge-7"},"state":"LIVE"})";
  Poll(PollKind::kSlow);
  Proxy proxy = Registered();
  proxy.process_ids = {42, 43};
  conversation_->Update(proxy);
  EXPECT_FALSE(Poll(PollKind::kFast).identity.has_value()) << "another process is not its news";
  proxy.pod.ns = "edge";
  proxy.pod.name = "gw-0";
  conversation_->Update(proxy);
  const auto outcome = Poll(PollKind::kFast);
  ASSERT_TRUE(outcome.identity.has_value());
  EXPECT_EQ(outcome.identity->proxy.name, "edge/gw-0");
}

TEST(IdentifyTest, RoleAndNameByNodeIdAndPod) {
  struct Row {
    const char* node_id;
    bool in_pod;
    ProxyRole role;
    const char* name;
  };
  for (const Row& row : {
           Row{"sidecar~10.0.0.5~web.v1-0.shop~shop.svc.cluster.local", true, ProxyRole::kSidecar,
               "shop/web.v1-0"},
           Row{"router~10.0.0.6~gw-0.edge~edge.svc.cluster.local", true, ProxyRole::kGateway,
               "edge/gw-0"},
           Row{"waypoint~10.0.0.7~wp-0.shop~shop.svc.cluster.local", true, ProxyRole::kWaypoint,
               "shop/wp-0"},
           Row{"edge-proxy-7", false, ProxyRole::kStandalone, "edge-proxy-7"},
           Row{"edge-proxy-7", true, ProxyRole::kUnspecified, "edge-proxy-7"},
           Row{"sidecar~10.0.0.5~webapp", false, ProxyRole::kStandalone, "sidecar~10.0.0.5~webapp"},
           Row{"", false, ProxyRole::kStandalone, "envoy at 127.0.0.1:15000"},
       }) {
    Proxy registered;
    registered.id = ProxyId("p");
    if (row.in_pod) registered.pod.uid = PodUid("uid");
    const Proxy proxy = Identify(registered, ServerInfo{"1.40.0", {}, row.node_id, {}}, kFirst);
    EXPECT_EQ(proxy.role, row.role) << row.node_id;
    EXPECT_EQ(proxy.name, row.name) << row.node_id;
    EXPECT_EQ(proxy.envoy_node_id, row.node_id);
  }
}

}  // namespace
}  // namespace phantomd
