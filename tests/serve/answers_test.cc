#include "agent/serve/answers.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using testing::At;

constexpr int64_t kWallAtBoot = 1795978740;

Report ReportWithConnections(uint64_t first, uint64_t last) {
  Report out = testing::SampleReport();
  std::vector<Connection> connections;
  for (uint64_t i = first; i <= last; ++i) connections.push_back(testing::SampleConnection(i));
  out.connections = testing::Chunks(connections, 4);
  return out;
}

using Cookies = std::vector<uint64_t>;

Cookies CookiesOf(const pb::ListConnectionsResponse& response) {
  Cookies out;
  for (const auto& connection : response.connections()) out.push_back(connection.socket_cookie());
  return out;
}

// The answer, which must not be an error.
pb::ListConnectionsResponse Ask(const Report& report, const pb::ListConnectionsRequest& request) {
  pb::ListConnectionsResponse out;
  const absl::Status status = AnswerConnections(report, request, &out);
  EXPECT_TRUE(status.ok()) << status;
  return out;
}

TEST(AnswerStatusTest, AddsWhatOnlyTheEdgesKnow) {
  AgentHealth health;
  health.feed_errors[Feed::kSlices] = "slices.json: does not exist";
  health.limitations = {"proxy shop/webapp-1 keeps no update_time"};
  pb::Status out;
  AnswerStatus(testing::SampleReport(), health, &out);
  EXPECT_EQ(out.node_name(), "node-1");
  ASSERT_EQ(out.feeds_size(), 3);
  EXPECT_EQ(out.feeds(0).error(), "");
  EXPECT_EQ(out.feeds(1).error(), "slices.json: does not exist");
  ASSERT_EQ(out.limitations_size(), 1);
  EXPECT_EQ(out.limitations(0), "proxy shop/webapp-1 keeps no update_time");
}

TEST(AnswerProxiesTest, ListsByNameThenId) {
  Report report = testing::SampleReport();
  std::swap(report.proxies[0], report.proxies[1]);
  pb::ListProxiesRequest request;
  request.set_page_size(1);
  pb::ListProxiesResponse first, second;
  ASSERT_TRUE(AnswerProxies(report, request, &first).ok());
  request.set_page_token(first.next_page_token());
  ASSERT_TRUE(AnswerProxies(report, request, &second).ok());
  EXPECT_EQ(first.proxies(0).proxy().name(), "shop/webapp-1");
  EXPECT_EQ(second.proxies(0).proxy().name(), "shop/webapp-2");
  EXPECT_EQ(second.next_page_token(), "");
}

TEST(AnswerRolloutsTest, ListsNewestFirstWithoutWindowsAndFilters) {
  Report report = testing::SampleReport();
  RolloutReport newer = report.rollouts[0];
  newer.name = "shop/Deployment/payments/77bb/20261129T185910Z";
  newer.workload.name = "payments";
  newer.started = At(10);
  report.rollouts.push_back(newer);
  pb::ListRolloutsResponse all;
  ASSERT_TRUE(AnswerRollouts(report, {}, &all).ok());
  ASSERT_EQ(all.rollouts_size(), 2);
  EXPECT_EQ(all.rollouts(0).workload().name(), "payments");
  EXPECT_EQ(all.rollouts(0).windows_size(), 0);

  pb::ListRolloutsRequest request;
  request.set_filter("workload=catalog");
  pb::ListRolloutsResponse catalog;
  ASSERT_TRUE(AnswerRollouts(report, request, &catalog).ok());
  ASSERT_EQ(catalog.rollouts_size(), 1);
  EXPECT_EQ(catalog.rollouts(0).workload().name(), "catalog");
}

TEST(AnswerRolloutTest, GivesTheNamedOneWithWindowsAndNamesAMissingOne) {
  const Report report = testing::SampleReport();
  pb::GetRolloutRequest request;
  request.set_name(report.rollouts[0].name);
  pb::Rollout out;
  ASSERT_TRUE(AnswerRollout(report, request, &out).ok());
  EXPECT_EQ(out.windows_size(), 2);

  request.set_name("shop/Deployment/none");
  const absl::Status missing = AnswerRollout(report, request, &out);
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.message(), "no rollout is named \"shop/Deployment/none\"");
  EXPECT_EQ(AnswerRollout(report, {}, &out).code(), absl::StatusCode::kInvalidArgument);
}

TEST(AnswerConnectionsTest, ListsNewestFirst) {
  EXPECT_EQ(CookiesOf(Ask(testing::SampleReport(), {})), (Cookies{9003, 9002, 9001}));
}

TEST(AnswerConnectionsTest, PagesStayStableWhileTheRingMovesOn) {
  pb::ListConnectionsRequest request;
  request.set_page_size(4);
  pb::ListConnectionsResponse page = Ask(ReportWithConnections(1, 10), request);
  EXPECT_EQ(CookiesOf(page), (Cookies{9010, 9009, 9008, 9007}));
  request.set_page_token(page.next_page_token());
  page = Ask(ReportWithConnections(4, 15), request);
  EXPECT_EQ(CookiesOf(page), (Cookies{9006, 9005, 9004}));
  EXPECT_EQ(page.next_page_token(), "");
}

TEST(AnswerConnectionsTest, PageThatIsJustFullIsTheLast) {
  pb::ListConnectionsRequest request;
  request.set_page_size(3);
  EXPECT_EQ(Ask(testing::SampleReport(), request).next_page_token(), "");
}

TEST(AnswerConnectionsTest, FilterAndTimesNarrowTheList) {
  const Report report = testing::SampleReport();
  pb::ListConnectionsRequest reused;
  reused.set_filter("class=REUSED");
  EXPECT_EQ(CookiesOf(Ask(report, reused)), (Cookies{9002}));

  // SYNs at 3.001 s, 4.5 s and 3.003 s; the end is exclusive.
  pb::ListConnectionsRequest window;
  window.mutable_start_time()->set_seconds(kWallAtBoot + 3);
  window.mutable_start_time()->set_nanos(3'000'000);
  window.mutable_end_time()->set_seconds(kWallAtBoot + 4);
  window.mutable_end_time()->set_nanos(500'000'000);
  EXPECT_EQ(CookiesOf(Ask(report, window)), (Cookies{9003}));

  pb::ListConnectionsRequest since;
  since.mutable_start_time()->set_seconds(kWallAtBoot + 4);
  EXPECT_EQ(CookiesOf(Ask(report, since)), (Cookies{9002}));

  pb::ListConnectionsRequest for_ever;
  for_ever.mutable_end_time()->set_seconds(253402300799);  // the year 9999
  EXPECT_EQ(Ask(report, for_ever).connections_size(), 3);

  pb::ListConnectionsRequest never;
  never.mutable_start_time()->set_seconds(253402300799);
  EXPECT_EQ(Ask(report, never).connections_size(), 0);
}

TEST(AnswerConnectionsTest, BadRequestsAreNamed) {
  const Report report = testing::SampleReport();
  pb::ListConnectionsRequest first;
  first.set_page_size(1);
  const std::string token = Ask(report, first).next_page_token();

  std::vector<std::pair<pb::ListConnectionsRequest, std::string>> cases(5);
  cases[0].first.set_filter("class=GONE");
  cases[0].second =
      "filter: \"GONE\" is no class; there are LIVE, WITHDRAWN, DEAD, REUSED, EXTERNAL, "
      "UNKNOWN_DESTINATION";
  cases[1].first.mutable_start_time()->set_nanos(-1);
  cases[1].second = "start_time: not a valid time";
  cases[2].first.mutable_end_time()->set_seconds(253402300800);
  cases[2].second = "end_time: not a valid time";
  cases[3].first.mutable_start_time()->set_seconds(2);
  cases[3].first.mutable_end_time()->set_seconds(2);
  cases[3].second = "start_time: does not lie before end_time";
  cases[4].first.set_filter("class=DEAD");
  cases[4].first.set_page_token(token);
  cases[4].second = "page_token: \"" + token + "\" was not given by this list with this filter";
  for (const auto& [request, sentence] : cases) {
    pb::ListConnectionsResponse out;
    const absl::Status status = AnswerConnections(report, request, &out);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(status.message(), sentence);
    EXPECT_EQ(out.connections_size(), 0);
  }
}

TEST(AnswerConnectionsTest, TokenOfAnAgentThatHasRestartedIsRefused) {
  pb::ListConnectionsRequest request;
  request.set_page_size(1);
  Report report = testing::SampleReport();
  request.set_page_token(Ask(report, request).next_page_token());
  report.status.started = At(30);
  pb::ListConnectionsResponse out;
  EXPECT_EQ(AnswerConnections(report, request, &out).code(), absl::StatusCode::kInvalidArgument);
}

TEST(AnswerStaleEndpointsTest, PagesByProxyClusterAndAddress) {
  Report report = testing::SampleReport();
  StaleEndpointReport other = report.stale_endpoints[0];
  other.address.ip = IpAddr::V4(10, 1, 0, 2);
  report.stale_endpoints.insert(report.stale_endpoints.begin(), other);
  pb::ListStaleEndpointsRequest request;
  request.set_page_size(1);
  pb::ListStaleEndpointsResponse first, second;
  ASSERT_TRUE(AnswerStaleEndpoints(report, request, &first).ok());
  request.set_page_token(first.next_page_token());
  ASSERT_TRUE(AnswerStaleEndpoints(report, request, &second).ok());
  EXPECT_EQ(first.endpoints(0).address(), "10.1.0.1:8080");
  EXPECT_EQ(second.endpoints(0).address(), "10.1.0.2:8080");
}

}  // namespace
}  // namespace phantomd
