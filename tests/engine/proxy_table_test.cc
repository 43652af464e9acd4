#include "agent/engine/proxy_table.h"

#include <gtest/gtest.h>

#include "tests/testing/scene.h"

namespace phantomd {
namespace {

using testing::Seconds;

class ProxyTableTest : public ::testing::Test {
 protected:
  ProxyTableTest() : lifecycle_({}, WallOffset()) {}

  void Tell(Proxy proxy, double when = 1, bool gone = false) {
    table_.Apply({std::move(proxy), gone}, Seconds(when), lifecycle_);
  }
  static Proxy Sidecar(const char* id, uint32_t pid, double start) {
    return {.id = ProxyId(id),
            .netns_cookie = 7,
            .process_ids = {pid},
            .process_start = Seconds(start)};
  }
  static Attempt From(uint32_t pid, uint32_t tid, double process_start) {
    Attempt attempt;
    attempt.netns_cookie = 7;
    attempt.process_id = pid;
    attempt.thread_id = tid;
    attempt.process_start = Seconds(process_start);
    attempt.started = Seconds(20);
    return attempt;
  }

  Lifecycle lifecycle_;
  ProxyTable table_;
};

TEST_F(ProxyTableTest, AWorkersConnectionIsTheProxysOwn) {
  Tell(Sidecar("p", 100, 5));
  const auto origin = table_.OriginOf(From(100, 101, 5.01));
  ASSERT_NE(origin.proxy, nullptr);
  EXPECT_EQ(origin.proxy->id, ProxyId("p"));
  EXPECT_EQ(origin.initiator, Initiator::kProxy);
}

TEST_F(ProxyTableTest, TheMainThreadsConnectionIsControl) {
  Tell(Sidecar("p", 100, 5));
  EXPECT_EQ(table_.OriginOf(From(100, 100, 5)).initiator, Initiator::kProxyControl);
}

TEST_F(ProxyTableTest, AnotherProcessOfTheNamespaceIsTheApplicationBesideIt) {
  Tell(Sidecar("p", 100, 5));
  const auto origin = table_.OriginOf(From(200, 200, 6));
  ASSERT_NE(origin.proxy, nullptr);
  EXPECT_EQ(origin.proxy->id, ProxyId("p"));
  EXPECT_EQ(origin.initiator, Initiator::kApplication);
}

TEST_F(ProxyTableTest, AReusedPidIsAnotherProcess) {
  Tell(Sidecar("p", 100, 5));
  EXPECT_EQ(table_.OriginOf(From(100, 101, 4.98)).initiator, Initiator::kApplication);
  EXPECT_EQ(table_.OriginOf(From(100, 101, 4.99)).initiator, Initiator::kProxy)
      << "within one tick";
}

TEST_F(ProxyTableTest, OfTwoIncarnationsTheOneWhoseProcessItIs) {
  Tell(Sidecar("old", 100, 5));
  Tell({.id = ProxyId("old")}, 10, true);
  Tell(Sidecar("new", 300, 11), 11);
  EXPECT_EQ(table_.OriginOf(From(100, 101, 5)).proxy->id, ProxyId("old"));
  EXPECT_EQ(table_.OriginOf(From(300, 301, 11)).proxy->id, ProxyId("new"));
  EXPECT_EQ(table_.OriginOf(From(200, 200, 1)).proxy->id, ProxyId("new"));
}

TEST_F(ProxyTableTest, WhatTheEdgeSaysOfTheInitiatorStands) {
  Tell(Sidecar("p", 100, 5));
  Attempt attempt = From(100, 100, 5);
  attempt.initiator = Initiator::kIntercepted;
  EXPECT_EQ(table_.OriginOf(attempt).initiator, Initiator::kIntercepted);
}

TEST_F(ProxyTableTest, AProcessOfTheProxyIsNoApplicationWhateverTheEdgeSays) {
  // It ended while no agent ran; the next one never saw it.
  Tell(Sidecar("p", 100, 5));
  Tell({.id = ProxyId("p")}, 21, true);
  Attempt attempt = From(100, 101, 5);
  attempt.initiator = Initiator::kApplication;
  EXPECT_EQ(table_.OriginOf(attempt).initiator, Initiator::kProxy);
  EXPECT_EQ(table_.OriginOf(attempt).proxy->id, ProxyId("p"));
  attempt.process_id = attempt.thread_id = 200;
  EXPECT_EQ(table_.OriginOf(attempt).initiator, Initiator::kApplication);
}

TEST_F(ProxyTableTest, AnUnknownNamespaceHasNoProxy) {
  Tell(Sidecar("p", 100, 5));
  Attempt attempt = From(100, 101, 5);
  attempt.netns_cookie = 8;
  EXPECT_EQ(table_.OriginOf(attempt).proxy, nullptr);
}

TEST_F(ProxyTableTest, TwoEdgesFillInOneProxy) {
  Tell(Sidecar("p", 100, 5));
  Tell({.id = ProxyId("p"), .envoy_version = "1.40.0", .admin_address = "127.0.0.1:15000"}, 2);
  const Proxy& told = table_.Find(ProxyId("p"))->told;
  EXPECT_EQ(told.envoy_version, "1.40.0");
  EXPECT_EQ(told.netns_cookie, 7u);
  EXPECT_EQ(told.process_start, Seconds(5));
  EXPECT_EQ(table_.Find(ProxyId("p"))->first_observed, Seconds(1));
}

TEST_F(ProxyTableTest, ThePodsNameComesFromTheLifecycleOnceItKnowsTheUid) {
  Proxy proxy{.id = ProxyId("p"), .name = "sidecar~x"};
  proxy.pod.uid = PodUid("u");
  Tell(proxy);
  EXPECT_EQ(table_.Find(ProxyId("p"))->named.name, "sidecar~x");
  PodChange pod;
  pod.pod = {.uid = PodUid("u"),
             .ns = "shop",
             .name = "webapp-1",
             .workload = {"shop", "Deployment", "webapp"}};
  lifecycle_.Apply(pod, Seconds(2));
  table_.PodTold(PodUid("u"), lifecycle_);
  EXPECT_EQ(table_.Find(ProxyId("p"))->named.name, "shop/webapp-1");
  EXPECT_EQ(table_.Find(ProxyId("p"))->named.pod.workload.name, "webapp");
  Tell({.id = ProxyId("p"), .envoy_version = "1.40.0"}, 3);
  EXPECT_EQ(table_.Find(ProxyId("p"))->named.name, "shop/webapp-1") << "a later change keeps it";
}

TEST_F(ProxyTableTest, AProxyStartedAnewInItsContainerRunsAgain) {
  Tell(Sidecar("p", 100, 5));
  Tell({.id = ProxyId("p")}, 10, true);
  Tell({.id = ProxyId("p"), .envoy_version = "1.40.0"}, 11);
  EXPECT_EQ(table_.Find(ProxyId("p"))->gone, Seconds(10)) << "late news of its admin API";
  Tell(Sidecar("p", 300, 12), 12);
  EXPECT_FALSE(table_.Find(ProxyId("p"))->gone.is_set());
  EXPECT_EQ(table_.Find(ProxyId("p"))->returned, Seconds(12));
  EXPECT_EQ(table_.OriginOf(From(300, 301, 12)).initiator, Initiator::kProxy);
  table_.Compact(Seconds(100));
  EXPECT_NE(table_.Find(ProxyId("p")), nullptr);
  Tell({.id = ProxyId("p")}, 110, true);
  EXPECT_EQ(table_.Find(ProxyId("p"))->gone, Seconds(110));
}

TEST_F(ProxyTableTest, AGoneProxyIsForgottenOnSchedule) {
  Tell(Sidecar("p", 100, 5));
  Tell({.id = ProxyId("p")}, 10, true);
  table_.Compact(Seconds(10));
  EXPECT_NE(table_.OriginOf(From(100, 101, 5)).proxy, nullptr);
  table_.Compact(Seconds(10.001));
  EXPECT_EQ(table_.OriginOf(From(100, 101, 5)).proxy, nullptr);
}

}  // namespace
}  // namespace phantomd
