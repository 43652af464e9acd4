#include "agent/probe/end_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <cerrno>

namespace phantomd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kPod = 100;  // a network namespace

BootTime At(double seconds) { return BootTime::FromNanos(static_cast<int64_t>(seconds * 1e9)); }

// Envoy is process 7, the application process 20. Attempts wait 1.2 s for the accepting side.
class EndResolverTest : public testing::Test {
 protected:
  EndResolverTest() {
    ProxyProcess envoy;
    envoy.proxy_id = ProxyId("pod/c1");
    envoy.process_id = 7;
    envoy.start = At(1);
    envoy.netns_cookie = kPod;
    processes_.Add(envoy);
  }

  static end_record End(uint32_t pid, uint32_t tid, uint64_t cookie, double established,
                        double ended, int error = ECONNRESET) {
    end_record out{};
    out.kind = CONNECT_RECORD_END;
    out.state = TCP_ESTABLISHED;
    out.flags = error == ECONNRESET ? END_FLAG_RST : 0;
    out.error = error;
    out.established_ns = At(established).nanos();
    out.ended_ns = At(ended).nanos();
    out.netns_cookie = kPod;
    out.socket_cookie = cookie;
    out.process_start_ns = At(1).nanos();
    out.process_id = pid;
    out.thread_id = tid;
    return out;
  }
  static end_record Stall(uint32_t pid, uint64_t cookie, double established, double at) {
    end_record out = End(pid, pid + 1, cookie, established, at, 0);
    out.flags = END_FLAG_STALLED;
    return out;
  }
  static Attempt Decided(uint64_t cookie, Initiator initiator) {
    Attempt out;
    out.outcome = Outcome::kEstablished;
    out.initiator = initiator;
    out.proxy_id = ProxyId("pod/c1");
    out.socket_cookie = cookie;
    return out;
  }
  std::vector<Initiator> Take() {
    std::vector<Initiator> out;
    for (const ConnectionEnd& end : out_) {
      out.push_back(end.initiator);
      EXPECT_EQ(end.proxy_id, ProxyId("pod/c1"));
    }
    out_.clear();
    return out;
  }

  ProxyProcesses processes_;
  InitiatorResolver openers_{processes_, {}};
  EndResolver ends_{openers_, std::chrono::milliseconds(1200)};
  std::vector<ConnectionEnd> out_;
};

TEST_F(EndResolverTest, AProxysEndIsItsThreads) {
  ends_.OnEnd(End(7, 8, 1, 5, 6), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kProxy));
  ends_.OnEnd(End(7, 7, 2, 5, 6), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kProxyControl));
}

TEST_F(EndResolverTest, AnApplicationsEndIsToldIfItsAttemptWasNotIntercepted) {
  ends_.Decided(Decided(1, Initiator::kApplication));
  ends_.Decided(Decided(2, Initiator::kIntercepted));
  ends_.OnEnd(End(20, 20, 1, 5, 9), out_);
  ends_.OnEnd(End(20, 20, 2, 5, 9), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
  ends_.Expire(At(9), out_);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(ends_.waiting(), 0u);
}

// Where the agent lags, an end is read in the same round as its attempt, which is decided last.
TEST_F(EndResolverTest, AnOldEndIsToldOnceItsAttemptIsDecidedInTheSameRound) {
  ends_.OnEnd(End(20, 20, 1, 5, 5.1), out_);
  ends_.Decided(Decided(1, Initiator::kApplication));
  ends_.Expire(At(60), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
}

TEST_F(EndResolverTest, AnEndWaitsForItsAttemptToBeDecided) {
  ends_.OnEnd(End(20, 20, 1, 5, 5.1), out_);
  ends_.OnEnd(End(20, 20, 2, 5, 5.1), out_);
  ends_.Expire(At(5.2), out_);
  EXPECT_THAT(Take(), IsEmpty());
  ends_.Decided(Decided(1, Initiator::kApplication));
  ends_.Expire(At(5.3), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
  EXPECT_EQ(ends_.waiting(), 1u);
  ends_.Expire(At(6.2), out_);  // by now it would have been decided
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(ends_.waiting(), 0u);
}

TEST_F(EndResolverTest, NothingWaitsAtTheEnd) {
  ends_.OnEnd(End(20, 20, 1, 5, 5.1), out_);
  ends_.OnEnd(End(20, 20, 2, 5, 5.1), out_);
  ends_.Decided(Decided(2, Initiator::kApplication));
  ends_.Expire(BootTime::Max(), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
  EXPECT_EQ(ends_.waiting(), 0u);
}

// An orphan's last end comes minutes after its process.
TEST_F(EndResolverTest, WhoStalledIsRememberedWhenTheProcessIsForgotten) {
  ends_.OnEnd(Stall(7, 1, 5, 6), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kProxy));
  processes_.End(7, At(1), At(7));
  processes_.Forget(At(100));
  ends_.OnEnd(End(7, 8, 1, 5, 110, ETIMEDOUT), out_);
  ends_.OnEnd(End(7, 8, 2, 5, 110, ETIMEDOUT), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kProxy));
}

TEST_F(EndResolverTest, TheOldestIsForgottenFirst) {
  for (uint64_t cookie = 0; cookie <= EndResolver::kRemembered; ++cookie) {
    ends_.Decided(Decided(cookie, Initiator::kApplication));
  }
  EXPECT_EQ(ends_.remembered(), EndResolver::kRemembered);
  ends_.OnEnd(End(20, 20, 0, 5, 9), out_);
  EXPECT_THAT(Take(), IsEmpty());
  ends_.OnEnd(End(20, 20, 1, 5, 9), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
}

}  // namespace
}  // namespace phantomd
