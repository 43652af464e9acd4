#include "agent/engine/poll_planner.h"

#include <gtest/gtest.h>

#include <variant>

#include "tests/testing/scene.h"

namespace phantomd {
namespace {

using testing::Ip;
using testing::PolledCluster;
using testing::Scene;
using testing::Seconds;

class PollPlannerTest : public ::testing::Test {
 protected:
  PollPlannerTest()
      : planner_(belief_, [this](const ProxyId&, const SocketAddr& address) {
          ++judged_;
          return stale_.contains(address.ip);
        }) {}

  void Polled(double when, const char* proxy, std::vector<std::string> ips) {
    Scene scene;
    scene.At(when).Polled(proxy, {PolledCluster{"catalog", std::move(ips)}});
    const auto snapshot = std::get<BeliefSnapshot>(scene.Events()[0].input.value);
    planner_.Applied(snapshot.proxy_id, belief_.Apply(snapshot));
  }
  void Stale(const char* ip, bool stale = true) {
    if (stale) {
      stale_.insert(Ip(ip));
    } else {
      stale_.erase(Ip(ip));
    }
    planner_.AddressTouched(Ip(ip));
  }
  bool Fast(const char* proxy) const {
    const auto it = planner_.demand().proxies.find(Scene::ProxyIdOf(proxy));
    return it != planner_.demand().proxies.end() && it->second.fast;
  }

  Belief belief_;
  std::set<IpAddr> stale_;
  int judged_ = 0;
  PollPlanner planner_;
};

TEST_F(PollPlannerTest, AWithdrawalMakesItsBelieversFastUntilTheyDropIt) {
  Polled(1, "a", {"10.0.0.1"});
  Polled(1, "b", {"10.0.0.1"});
  Polled(1, "c", {"10.0.0.2"});
  Stale("10.0.0.1");
  EXPECT_TRUE(Fast("a"));
  EXPECT_TRUE(Fast("b"));
  EXPECT_FALSE(Fast("c"));
  Polled(2, "a", {});
  EXPECT_FALSE(Fast("a"));
  EXPECT_TRUE(Fast("b"));
  Polled(3, "b", {});
  EXPECT_TRUE(planner_.demand().proxies.empty());
}

TEST_F(PollPlannerTest, AllAddressesMustBeDropped) {
  Polled(1, "a", {"10.0.0.1", "10.0.0.2"});
  Stale("10.0.0.1");
  Stale("10.0.0.2");
  Polled(2, "a", {"10.0.0.2"});
  EXPECT_TRUE(Fast("a"));
  Polled(3, "a", {});
  EXPECT_FALSE(Fast("a"));
}

TEST_F(PollPlannerTest, AnAddressBackInServiceEndsIt) {
  Polled(1, "a", {"10.0.0.1"});
  Stale("10.0.0.1");
  Stale("10.0.0.1", false);
  EXPECT_FALSE(Fast("a"));
}

TEST_F(PollPlannerTest, AProxyThatStartsWithAStaleAddressIsFastAtOnce) {
  Stale("10.0.0.1");
  Polled(1, "a", {"10.0.0.1"});
  EXPECT_TRUE(Fast("a"));
}

TEST_F(PollPlannerTest, APollIsJudgedForWhatItNewlyListsAlone) {
  Polled(1, "a", {"10.0.0.1", "10.0.0.2", "10.0.0.3"});
  EXPECT_EQ(judged_, 3);
  Polled(1.05, "a", {"10.0.0.1", "10.0.0.2", "10.0.0.3"});
  EXPECT_EQ(judged_, 3) << "fast polls of large clusters must cost little";
  Polled(1.1, "a", {"10.0.0.1", "10.0.0.2"});
  Polled(1.15, "a", {"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"});
  EXPECT_EQ(judged_, 5) << "one that came back, and a new one";
}

TEST_F(PollPlannerTest, AGoneProxyIsAskedNothing) {
  Polled(1, "a", {"10.0.0.1"});
  Stale("10.0.0.1");
  planner_.SetAnswerAfter(Scene::ProxyIdOf("a"), Seconds(2));
  planner_.ProxyGone(Scene::ProxyIdOf("a"));
  EXPECT_TRUE(planner_.demand().proxies.empty());
  EXPECT_TRUE(planner_.watched().empty());
}

TEST_F(PollPlannerTest, AnAnswerIsAwaitedWithoutHaste) {
  planner_.SetAnswerAfter(Scene::ProxyIdOf("a"), Seconds(2));
  ASSERT_EQ(planner_.demand().proxies.size(), 1u);
  EXPECT_EQ(planner_.demand().proxies.begin()->second.answer_after, Seconds(2));
  EXPECT_FALSE(Fast("a"));
  planner_.SetAnswerAfter(Scene::ProxyIdOf("a"), BootTime());
  EXPECT_TRUE(planner_.demand().proxies.empty());
}

}  // namespace
}  // namespace phantomd
