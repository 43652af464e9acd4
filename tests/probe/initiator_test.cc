#include "agent/probe/initiator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/probe/instants.h"

namespace phantomd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Envoy is process 7, started at 100 s, user 1337 in cgroup 50; the application is process 20 of
// user 0 in cgroup 60.
class InitiatorTest : public testing::Test {
 protected:
  InitiatorTest() { processes_.Add(Envoy(7, "pod/c1")); }

  static ProxyProcess Envoy(uint32_t pid, const char* id) {
    ProxyProcess out;
    out.proxy_id = ProxyId(id);
    out.process_id = pid;
    out.start = At(100);
    out.netns_cookie = kPod;
    out.cgroup_id = 50;
    out.uid = 1337;
    return out;
  }

  static connect_record Connect(uint32_t pid, uint32_t tid, double ended) {
    connect_record out{};
    out.kind = CONNECT_RECORD_ATTEMPT;
    out.flags = CONNECT_FLAG_ESTABLISHED | CONNECT_FLAG_SYN_SENT;
    out.netns_cookie = kPod;
    out.process_id = pid;
    out.thread_id = tid;
    out.process_start_ns = At(100).nanos();
    out.started_ns = out.ended_ns = At(ended).nanos();
    out.client_isn = 7;
    out.server_isn = 9;
    return out;
  }

  static accept_record Accept(uint32_t uid, uint64_t cgroup_id) {
    accept_record out{};
    out.kind = CONNECT_RECORD_ACCEPT;
    out.netns_cookie = kPod;
    out.uid = uid;
    out.cgroup_id = cgroup_id;
    out.client_isn = 7;
    out.server_isn = 9;
    return out;
  }

  std::vector<Initiator> Take() {
    std::vector<Initiator> out;
    for (const Attempt& attempt : out_) out.push_back(attempt.initiator);
    out_.clear();
    return out;
  }

  ProxyProcesses processes_;
  InitiatorResolver resolver_{processes_, {.host_netns_cookie = kHost}};
  std::vector<Attempt> out_;
};

TEST_F(InitiatorTest, WorkerIsTheProxyAndMainThreadIsControl) {
  resolver_.OnConnect(Connect(7, 8, 200), out_);
  resolver_.OnConnect(Connect(7, 7, 200), out_);
  EXPECT_EQ(out_[0].proxy_id, ProxyId("pod/c1"));
  EXPECT_THAT(Take(), ElementsAre(Initiator::kProxy, Initiator::kProxyControl));
}

TEST_F(InitiatorTest, EveryThreadOfZtunnelIsTheProxyAndOfTheAgentControl) {
  ProxyProcess ztunnel = Envoy(30, "z/c1");
  ztunnel.kind = ProxyProcess::Kind::kZtunnel;
  processes_.Add(ztunnel);
  ProxyProcess agent = Envoy(31, "");
  agent.kind = ProxyProcess::Kind::kAgent;
  processes_.Add(agent);
  resolver_.OnConnect(Connect(30, 30, 200), out_);
  resolver_.OnConnect(Connect(31, 35, 200), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kProxy, Initiator::kProxyControl));
}

// ztunnel lives in a pod of its own and accepts in those that it serves.
TEST_F(InitiatorTest, ProxyOfAnotherNamespaceThatServesThisOneIsItsProxy) {
  constexpr uint64_t kServed = 101;
  ProxyProcess ztunnel = Envoy(30, "z/c1");
  ztunnel.kind = ProxyProcess::Kind::kZtunnel;
  processes_.Add(ztunnel);
  const auto connect_and_accept = [&] {
    connect_record connect = Connect(20, 20, 200);
    connect.netns_cookie = kServed;
    accept_record accept = Accept(1337, 50);
    accept.netns_cookie = kServed;
    resolver_.OnConnect(connect, out_);
    resolver_.OnAccept(accept, out_);
  };
  connect_and_accept();
  EXPECT_TRUE(out_.at(0).proxy_id.empty());
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication)) << "nobody is known to serve it";
  processes_.FoundIn(30, At(100), kServed, At(199));
  connect_and_accept();
  EXPECT_EQ(out_.at(0).proxy_id, ProxyId("z/c1"));
  EXPECT_THAT(Take(), ElementsAre(Initiator::kIntercepted));
}

TEST_F(InitiatorTest, ReusedProcessIdIsNotTheProxy) {
  connect_record record = Connect(7, 8, 200);
  record.flags = CONNECT_FLAG_SYN_SENT;
  record.process_start_ns = At(150).nanos();
  resolver_.OnConnect(record, out_);
  // Start times from /proc are rounded down to a tick.
  record.process_start_ns = At(100.009).nanos();
  resolver_.OnConnect(record, out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication, Initiator::kProxy));
}

TEST_F(InitiatorTest, EndedProxyIsKnownUntilForgotten) {
  processes_.End(7, At(100), At(200));
  processes_.Forget(At(200));
  resolver_.OnConnect(Connect(7, 8, 199), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kProxy));
  processes_.Forget(At(201));
  EXPECT_EQ(processes_.Find(7, At(100)), nullptr);
}

TEST_F(InitiatorTest, AcceptedByTheProxyIsIntercepted) {
  resolver_.OnConnect(Connect(20, 20, 200), out_);
  EXPECT_THAT(Take(), IsEmpty());
  resolver_.OnAccept(Accept(1337, 50), out_);
  EXPECT_EQ(out_.at(0).proxy_id, ProxyId("pod/c1"));
  EXPECT_THAT(Take(), ElementsAre(Initiator::kIntercepted));
  resolver_.Expire(BootTime::Max(), out_);
  EXPECT_THAT(Take(), IsEmpty());  // once only
}

TEST_F(InitiatorTest, AcceptedByAnotherUserOrCgroupIsNotIntercepted) {
  for (const accept_record& accept : {Accept(0, 60), Accept(0, 50), Accept(1337, 60)}) {
    resolver_.OnConnect(Connect(20, 20, 200), out_);
    resolver_.OnAccept(accept, out_);
    EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
  }
}

TEST_F(InitiatorTest, HandshakeOfAnotherConnectionDecidesNothing) {
  resolver_.OnConnect(Connect(20, 20, 200), out_);
  accept_record other = Accept(1337, 50);
  other.server_isn = 10;
  resolver_.OnAccept(other, out_);
  other = Accept(1337, 50);
  other.netns_cookie = kPod + 1;
  resolver_.OnAccept(other, out_);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(resolver_.waiting(), 1u);
}

TEST_F(InitiatorTest, UnacceptedConnectionBypassesTheProxyOnceItsTimeIsOver) {
  resolver_.OnConnect(Connect(20, 20, 200), out_);
  resolver_.Expire(At(201.1), out_);
  EXPECT_THAT(Take(), IsEmpty());
  resolver_.Expire(At(201.2), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
  EXPECT_EQ(resolver_.waiting(), 0u);
}

TEST_F(InitiatorTest, FailedConnectionWaitsForNobody) {
  connect_record record = Connect(20, 20, 200);
  record.flags = CONNECT_FLAG_SYN_SENT | CONNECT_FLAG_RST;
  record.error = ECONNREFUSED;
  resolver_.OnConnect(record, out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
}

TEST_F(InitiatorTest, ApplicationsOfTheHostAreNotRecorded) {
  connect_record record = Connect(20, 20, 200);
  record.netns_cookie = kHost;
  resolver_.OnConnect(record, out_);
  resolver_.Expire(BootTime::Max(), out_);
  EXPECT_THAT(Take(), IsEmpty());
}

TEST_F(InitiatorTest, ApplicationBesideTwoProxiesIsNobodysInParticular) {
  processes_.Add(Envoy(9, "pod/c2"));
  connect_record record = Connect(20, 20, 200);
  record.flags = CONNECT_FLAG_SYN_SENT;
  resolver_.OnConnect(record, out_);
  EXPECT_TRUE(out_.at(0).proxy_id.empty());
}

}  // namespace
}  // namespace phantomd
