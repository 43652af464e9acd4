// EnvoyEdge against a fake admin server: what it posts, and that its low marks are true.
#include "agent/envoy/envoy_edge.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "tests/envoy/edge_harness.h"
#include "tests/envoy/fake_admin_server.h"
#include "tests/envoy/samples.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const ProxyId kProxy("proxy-a");
constexpr char kCatalogHttp[] = "outbound|8080||catalog.shop.svc.cluster.local";

EnvoyEdgeOptions Options() {
  EnvoyEdgeOptions options;
  options.client.timeout = std::chrono::milliseconds(500);
  options.low_mark_interval = std::chrono::milliseconds(50);
  return options;
}

AdminTarget TargetAt(const SocketAddr& admin) {
  AdminTarget target;
  target.proxy.id = kProxy;
  target.pid = getpid();
  target.bootstrap_inline =
      fmt::format("admin: {{address: {{socket_address: {{address: {}, port_value: {}}}}}}}",
                  admin.ip.ToString(), admin.port);
  return target;
}

bool Good(const BeliefSnapshot& snapshot) { return snapshot.error.empty(); }
bool Failed(const BeliefSnapshot& snapshot) { return !snapshot.error.empty(); }

class EnvoyEdgeTest : public ::testing::Test {
 protected:
  enum class Mood { kWell, kHeld, kStalls, kRubbish };

  FakeReply Answer(const std::string& path) {
    if (mood_ == Mood::kStalls) return {"", FakeReply::End::kStall};
    if (mood_ == Mood::kRubbish) return FakeReply::Ok("<html>");
    const bool held = mood_ == Mood::kHeld;
    if (path == "/server_info") return FakeReply::Ok(Sample("server_info.json"));
    if (path == "/clusters?format=json") {
      return FakeReply::Ok(Sample(held ? "clusters_held.json" : "clusters.json"));
    }
    if (path.starts_with("/config_dump?include_eds")) {
      return FakeReply::Ok(Sample(held ? "config_dump_held.json" : "config_dump.json"));
    }
    if (path.starts_with("/stats?")) return FakeReply::Ok("{\"stats\":[]}");
    return {"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", FakeReply::End::kClose};
  }

  std::atomic<Mood> mood_{Mood::kWell};
  FakeAdminServer server_{[this](const std::string& path) { return Answer(path); }};
  EdgeHarness harness_{Options()};
};

TEST_F(EnvoyEdgeTest, RegisteredProxyIsIdentifiedAndItsBeliefToldWhole) {
  harness_.Register(TargetAt(server_.address()));
  const auto snapshot = harness_.NextSnapshot(Good);
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_EQ(snapshot->proxy_id, kProxy);
  EXPECT_TRUE(snapshot->complete);
  EXPECT_EQ(snapshot->clusters.size(), 10u);
  ASSERT_EQ(harness_.proxies().size(), 1u) << "and who it is comes first";
  EXPECT_EQ(harness_.proxies()[0].proxy.name, "shop/webapp-0");
  EXPECT_EQ(harness_.proxies()[0].proxy.admin_address, server_.address().ToString());
}

TEST_F(EnvoyEdgeTest, ALowMarkComesAtOnceWhereItIsWantedAndBehindWhatIsTold) {
  EnvoyEdgeOptions patient = Options();
  patient.low_mark_interval = std::chrono::hours(1);
  EdgeHarness harness(patient);
  harness.PassLowMarks(1);  // the first
  for (int i = 0; i < 3; ++i) {
    const int before = harness.low_marks();
    harness.edge().Wake();
    harness.PassLowMarks(1);
    EXPECT_GT(harness.low_marks(), before);
  }
  harness.Register(TargetAt(server_.address()));
  ASSERT_TRUE(harness.NextSnapshot(Good).has_value());
  harness.PassLowMarks(1);
}

TEST_F(EnvoyEdgeTest, FastDemandFollowsAWithdrawalWithinOnePoll) {
  harness_.Register(TargetAt(server_.address()));
  ASSERT_TRUE(harness_.NextSnapshot(Good).has_value());
  PollDemand demand;
  demand.proxies[kProxy].fast = true;
  harness_.Demand(demand);
  const auto unchanged = harness_.NextSnapshot(Good);
  ASSERT_TRUE(unchanged.has_value());
  EXPECT_FALSE(unchanged->complete);
  EXPECT_THAT(unchanged->clusters, IsEmpty());
  mood_ = Mood::kHeld;
  const auto changed =
      harness_.NextSnapshot([](const BeliefSnapshot& s) { return Good(s) && !s.clusters.empty(); });
  ASSERT_TRUE(changed.has_value());
  EXPECT_EQ(changed->clusters[0].name, kCatalogHttp);
  EXPECT_TRUE(std::any_of(changed->clusters[0].endpoints.begin(),
                          changed->clusters[0].endpoints.end(),
                          [](const auto& endpoint) { return endpoint.pending_removal; }));
}

TEST_F(EnvoyEdgeTest, AnswerIsASnapshotRequestedAfterTheInstant) {
  harness_.Register(TargetAt(server_.address()));
  ASSERT_TRUE(harness_.NextSnapshot(Good).has_value());
  PollDemand demand;
  const BootTime instant = harness_.Now();
  demand.proxies[kProxy].answer_after = instant;
  harness_.Demand(demand);
  EXPECT_TRUE(
      harness_.NextSnapshot([&](const auto& s) { return Good(s) && s.requested >= instant; })
          .has_value());
}

TEST_F(EnvoyEdgeTest, AnswerOfAProxyNobodyRegisteredIsARefusal) {
  PollDemand demand;
  const BootTime instant = harness_.Now();
  demand.proxies[ProxyId("stranger")].answer_after = instant;
  harness_.Demand(demand);
  const auto refusal = harness_.NextSnapshot(Failed);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_EQ(refusal->proxy_id, ProxyId("stranger"));
  EXPECT_GE(refusal->requested, instant);
  EXPECT_THAT(refusal->error, HasSubstr("poll refused"));
}

TEST_F(EnvoyEdgeTest, LowMarksGoOnWhileAPollIsStalledAndItsFailureIsTold) {
  mood_ = Mood::kStalls;
  harness_.Register(TargetAt(server_.address()));
  const int before = harness_.low_marks();
  const auto failure = harness_.NextSnapshot(Failed);
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->error, HasSubstr("/server_info"));
  EXPECT_THAT(failure->error, HasSubstr("timed out"));
  EXPECT_GE(harness_.low_marks() - before, 3) << "on a machine that is not too busy";
  // The proxy comes back: its belief is told whole, without anybody asking.
  mood_ = Mood::kWell;
  const auto snapshot = harness_.NextSnapshot(Good);
  ASSERT_TRUE(snapshot.has_value());
  EXPECT_TRUE(snapshot->complete);
}

TEST_F(EnvoyEdgeTest, FailuresAreCountedByKindAndMissingStatisticsAreALimitation) {
  mood_ = Mood::kRubbish;
  harness_.Register(TargetAt(server_.address()));
  ASSERT_TRUE(harness_.NextSnapshot(Failed).has_value());
  mood_ = Mood::kWell;
  ASSERT_TRUE(harness_.NextSnapshot(Good).has_value());
  harness_.PassLowMarks(2);  // they are published with the low marks
  const auto stats = harness_.edge().stats();
  EXPECT_GE(stats->errors.at("rubbish"), 1u);
  EXPECT_GE(stats->polls, 2u);
  EXPECT_GT(stats->seconds, 0);
  uint64_t observed = 0;
  for (const uint64_t bucket : stats->buckets) observed += bucket;
  EXPECT_EQ(observed, stats->polls);
  EXPECT_THAT(stats->limitations.at(kProxy), HasSubstr("shop/webapp-0 keeps no update_time"));
}

TEST_F(EnvoyEdgeTest, ProxyWithoutAdminApiIsAFailedPollWithTheReason) {
  AdminTarget target = TargetAt(server_.address());
  target.bootstrap_inline = "node: {id: x}";
  harness_.Register(target);
  const auto failure = harness_.NextSnapshot(Failed);
  ASSERT_TRUE(failure.has_value());
  EXPECT_THAT(failure->error, HasSubstr("configures no admin API"));
}

TEST_F(EnvoyEdgeTest, ProxyThatIsGoneIsPolledNoMore) {
  harness_.Register(TargetAt(server_.address()));
  PollDemand demand;
  demand.proxies[kProxy].fast = true;
  harness_.Demand(demand);
  ASSERT_TRUE(harness_.NextSnapshot(Good).has_value());
  harness_.Gone(kProxy);
  harness_.PassLowMarks(3);
  const size_t asked = server_.asked().size();
  harness_.PassLowMarks(5);
  EXPECT_EQ(server_.asked().size(), asked);
}

TEST_F(EnvoyEdgeTest, StopEndsAStalledPollAndTheLastMarkIsForEver) {
  mood_ = Mood::kStalls;
  harness_.Register(TargetAt(server_.address()));
  harness_.PassLowMarks(2);
  const auto last = harness_.StopAndTakeLast();
  ASSERT_TRUE(last.has_value());
  ASSERT_TRUE(std::holds_alternative<BootTime>(last->value));
  EXPECT_EQ(std::get<BootTime>(last->value), BootTime::Max());
}

}  // namespace
}  // namespace phantomd
