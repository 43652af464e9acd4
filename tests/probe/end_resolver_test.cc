#include "agent/probe/end_resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <cerrno>

#include "tests/probe/instants.h"

namespace phantomd {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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
  static Attempt Decided(uint64_t cookie, Initiator initiator, double established = 5) {
    Attempt out;
    out.ended = At(established);
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

// What the bounds cost is a loss: an end that may be a forgotten connection's.
TEST_F(EndResolverTest, TheOldestIsForgottenFirstAndItsEndIsALoss) {
  for (uint64_t cookie = 0; cookie <= EndResolver::kRemembered; ++cookie) {
    ends_.Decided(Decided(cookie, Initiator::kApplication, cookie == 0 ? 5 : 6));
  }
  EXPECT_EQ(ends_.remembered(), EndResolver::kRemembered);
  EXPECT_THAT(ends_.TakeLosses(), IsEmpty());
  ends_.OnEnd(End(20, 20, 0, 5, 9), out_);
  ends_.OnEnd(End(20, 20, 70'000, 4, 9.5), out_);  // it may have been older
  ends_.OnEnd(End(20, 20, 70'001, 6, 9.7), out_);  // it was intercepted
  ends_.Expire(At(10), out_);
  EXPECT_THAT(Take(), IsEmpty());
  EXPECT_EQ(ends_.waiting(), 0u);
  EXPECT_THAT(ends_.TakeLosses(),
              ElementsAre(Loss{
                  .what = "unnamed_connection_end", .count = 2, .from = At(9), .to = At(9.5)}));
  EXPECT_THAT(ends_.TakeLosses(), IsEmpty()) << "told once";
  ends_.OnEnd(End(20, 20, 1, 6, 9), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
}

TEST_F(EndResolverTest, EndedConnectionsMakeRoom) {
  for (uint64_t cookie = 0; cookie < 3 * EndResolver::kRemembered; ++cookie) {
    ends_.Decided(Decided(cookie, Initiator::kApplication));
    if (cookie > 0) ends_.OnEnd(End(20, 20, cookie, 5, 9), out_);
  }
  EXPECT_EQ(ends_.remembered(), 1u);
  out_.clear();
  ends_.OnEnd(End(20, 20, 0, 5, 9), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
  EXPECT_THAT(ends_.TakeLosses(), IsEmpty());
}

// Both are read in one round: the attempts come first.
TEST_F(EndResolverTest, EndIsNotTakenForThatOfTheSocketsNextConnection) {
  ends_.Decided(Decided(1, Initiator::kApplication, 5));
  ends_.Decided(Decided(1, Initiator::kApplication, 7));
  ends_.OnEnd(End(20, 20, 1, 5, 6), out_);
  ends_.OnEnd(End(20, 20, 1, 7, 8), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication, Initiator::kApplication));
}

TEST_F(EndResolverTest, StormOfAnApplicationDoesNotEmptyTheProxysMemory) {
  ends_.Adopted(1'000'000, {Initiator::kProxy, ProxyId("pod/c1")}, At(4));
  for (uint64_t cookie = 0; cookie <= EndResolver::kRemembered; ++cookie) {
    ends_.Decided(Decided(cookie, Initiator::kApplication));
  }
  ends_.OnEnd(End(0, 0, 1'000'000, 4, 9), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kProxy));
}

TEST_F(EndResolverTest, TooManyThatWaitAreALossOfTheOldest) {
  for (uint64_t cookie = 0; cookie <= EndResolver::kWaiting; ++cookie) {
    ends_.OnEnd(End(20, 20, cookie, 5, cookie == 0 ? 5.1 : 5.2), out_);
  }
  EXPECT_EQ(ends_.waiting(), EndResolver::kWaiting);
  EXPECT_THAT(ends_.TakeLosses(),
              ElementsAre(Loss{
                  .what = "unnamed_connection_end", .count = 1, .from = At(5.1), .to = At(5.1)}));
  ends_.Decided(Decided(1, Initiator::kApplication));
  ends_.Expire(At(5.3), out_);
  EXPECT_THAT(Take(), ElementsAre(Initiator::kApplication));
}

TEST_F(EndResolverTest, AdoptedSynThatFailedIsForgotten) {
  ends_.Adopted(1, {Initiator::kProxy, ProxyId("pod/c1")}, At(4));
  Attempt attempt = Decided(1, Initiator::kProxy);
  attempt.outcome = Outcome::kAbandoned;
  attempt.adopted = true;
  ends_.Decided(attempt);
  EXPECT_EQ(ends_.remembered(), 0u);
}

}  // namespace
}  // namespace phantomd
