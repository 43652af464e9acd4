#include "agent/cmd/ctl/merge.h"

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include "agent/wire/report_wire.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using google::protobuf::util::MessageDifferencer;
using google::protobuf::util::TimeUtil;
using ::testing::ElementsAre;

pb::Rollout SampleRollout() {
  pb::Report report;
  EncodeReport(testing::SampleReport(), &report);
  return report.rollouts(0);
}

google::protobuf::Timestamp Second(int64_t seconds) {
  google::protobuf::Timestamp out;
  out.set_seconds(seconds);
  return out;
}

TEST(MergeTest, OneAnswerIsNotChanged) {
  const pb::Rollout rollout = SampleRollout();
  EXPECT_TRUE(MessageDifferencer::Equals(Merge(std::vector{rollout}), rollout));
  pb::ListConnectionsResponse connections;
  connections.add_connections()->set_socket_cookie(1);
  *connections.mutable_connections(0)->mutable_started() = Second(1);
  connections.add_connections()->set_socket_cookie(2);
  *connections.mutable_connections(1)->mutable_started() = Second(2);
  EXPECT_TRUE(MessageDifferencer::Equals(Merge(std::vector{connections}), connections));
}

TEST(MergeTest, RolloutIsTheSumOfWhatItsAgentsSaw) {
  pb::Rollout other = SampleRollout();
  other.set_pods_departed(2);
  *other.mutable_finished() = Second(1795978790);
  *other.mutable_wait_max() = TimeUtil::SecondsToDuration(9);
  other.clear_windows();
  pb::ProxyWindow* window = other.add_windows();
  window->set_proxy_name("shop/webapp-3");
  *window->mutable_opened() = Second(1795978742);
  *window->mutable_closed() = Second(1795978743);
  const pb::Rollout merged = Merge(std::vector{SampleRollout(), other});
  EXPECT_EQ(merged.attempts(), 26u);
  EXPECT_EQ(merged.withdrawn(), 6u);
  EXPECT_EQ(merged.dead(), 14u);
  EXPECT_EQ(merged.reused(), 4u);
  EXPECT_EQ(merged.other(), 2u);
  EXPECT_EQ(merged.stranded(), 4u);
  EXPECT_EQ(merged.attempts_lost(), 8u);
  EXPECT_TRUE(merged.lower_bounds());
  EXPECT_EQ(merged.pods_departed(), 3u);
  ASSERT_EQ(merged.by_cause_size(), 2);
  EXPECT_EQ(merged.by_cause(1).key(), "STALE_EDS");
  EXPECT_EQ(merged.by_cause(1).count(), 16u);
  EXPECT_EQ(merged.finished().seconds(), 1795978790);
  EXPECT_EQ(merged.wait_max().seconds(), 9);
  EXPECT_EQ(merged.wait_total().seconds(), 14);
  // The waits themselves are not there, the windows are: 1 s and 3.02 s.
  EXPECT_FALSE(merged.has_wait_p50());
  EXPECT_EQ(TimeUtil::ToString(merged.window_p50()), "1s");
  std::vector<std::string> names;
  for (const auto& w : merged.windows()) names.push_back(w.proxy_name());
  EXPECT_THAT(names, ElementsAre("shop/webapp-2", "shop/webapp-1", "shop/webapp-3"));
}

TEST(MergeTest, RolloutGoesOnWhileItDoesForOneAgent) {
  pb::Rollout going_on = SampleRollout();
  going_on.clear_finished();
  EXPECT_FALSE(Merge(std::vector{SampleRollout(), going_on}).has_finished());
  EXPECT_FALSE(Merge(std::vector{going_on, SampleRollout()}).has_finished());
}

TEST(MergeTest, AgentThatSawNothingLeavesTheMedianOfTheOther) {
  pb::Rollout nothing;
  nothing.set_name(SampleRollout().name());
  for (const auto& both : {std::vector{SampleRollout(), nothing}, {nothing, SampleRollout()}}) {
    pb::Rollout merged = Merge(both);
    EXPECT_EQ(TimeUtil::ToString(merged.wait_p50()), "1s");
    EXPECT_EQ(TimeUtil::ToString(merged.wait_max()), "1.004s");
  }
}

TEST(MergeTest, RolloutsOfOneNameAreOneAndNewestIsFirst) {
  pb::ListRolloutsResponse first, second;
  *first.add_rollouts() = SampleRollout();
  *second.add_rollouts() = SampleRollout();
  pb::Rollout* newer = second.add_rollouts();
  newer->set_name("shop/Deployment/payments/1/20261129T185959Z");
  *newer->mutable_started() = Second(1795978799);
  const auto merged = Merge(std::vector{first, second});
  ASSERT_EQ(merged.rollouts_size(), 2);
  EXPECT_EQ(merged.rollouts(0).name(), newer->name());
  EXPECT_EQ(merged.rollouts(1).attempts(), 26u);
}

TEST(MergeTest, ListsKeepTheirOrderAcrossAgents) {
  pb::ListProxiesResponse proxies[2];
  proxies[0].add_proxies()->mutable_proxy()->set_name("b");
  proxies[1].add_proxies()->mutable_proxy()->set_name("a");
  EXPECT_EQ(Merge(std::vector{proxies[0], proxies[1]}).proxies(0).proxy().name(), "a");

  pb::ListConnectionsResponse connections[2];
  *connections[0].add_connections()->mutable_started() = Second(1);
  *connections[1].add_connections()->mutable_started() = Second(2);
  EXPECT_EQ(Merge(std::vector{connections[0], connections[1]}).connections(0).started().seconds(),
            2);

  pb::ListStaleEndpointsResponse stale[2];
  stale[0].add_endpoints()->set_proxy_name("b");
  stale[1].add_endpoints()->set_proxy_name("a");
  EXPECT_EQ(Merge(std::vector{stale[0], stale[1]}).endpoints(0).proxy_name(), "a");
}

TEST(MergeTest, ExplanationTakesTheFirmestWordAndAllBeliefs) {
  pb::AddressExplanation young, sure, guess;
  young.set_destination_class(pb::UNKNOWN_DESTINATION);
  young.add_beliefs()->set_proxy_name("young");
  guess.set_destination_class(pb::WITHDRAWN);
  guess.set_certainty(pb::INFERRED);
  guess.add_beliefs()->set_proxy_name("guess");
  *guess.add_recent()->mutable_started() = Second(5);
  sure.set_destination_class(pb::DEAD);
  sure.set_certainty(pb::CERTAIN);
  sure.add_beliefs()->set_proxy_name("sure");
  *sure.add_recent()->mutable_started() = Second(4);
  const auto merged = Merge(std::vector{young, guess, sure});
  EXPECT_EQ(merged.destination_class(), pb::DEAD);
  EXPECT_EQ(merged.beliefs_size(), 3);
  ASSERT_EQ(merged.recent_size(), 2);
  EXPECT_EQ(merged.recent(0).started().seconds(), 5);
}

}  // namespace
}  // namespace phantomd
