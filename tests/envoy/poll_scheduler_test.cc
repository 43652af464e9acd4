// The pace of polls, in simulated time.
#include "agent/envoy/poll_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace phantomd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

const ProxyId kProxy("proxy-a");

BootTime At(Nanos since_start) { return BootTime::FromNanos(1'000'000'000'000) + since_start; }

PollDemand Fast() {
  PollDemand demand;
  demand.proxies[kProxy].fast = true;
  return demand;
}

PollDemand Answer(BootTime after) {
  PollDemand demand;
  demand.proxies[kProxy].answer_after = after;
  return demand;
}

// Runs the scheduler over simulated time; every poll takes `cost` and succeeds or fails as told.
class PollSchedulerTest : public ::testing::Test {
 protected:
  struct Started {
    Nanos at;
    PollKind kind;
  };

  void RunUntil(Nanos end) {
    while (now_ < end) {
      const PollScheduler::Due due = scheduler_.Take(At(now_));
      for (const auto& refusal : due.refusals) refusals_[refusal.proxy] = refusal.reason;
      for (const auto& poll : due.polls) {
        started_.push_back({now_, poll.kind});
        spent_ += cost_;
        scheduler_.Finished(poll.proxy, At(now_), At(now_ + cost_), cost_, ok_);
      }
      // To the next wake-up, as the thread does; never back, never standing still.
      const Nanos wake = scheduler_.NextWake(At(now_)) - At(Nanos(0));
      now_ = std::min(end, std::max(wake, now_ + (due.polls.empty() ? Nanos(1) : cost_)));
    }
  }
  size_t Count(PollKind kind) const {
    return std::count_if(started_.begin(), started_.end(),
                         [&](const Started& s) { return s.kind == kind; });
  }

  PollScheduler scheduler_{PollPace{}};
  Nanos now_{0};
  Nanos cost_ = milliseconds(1);
  bool ok_ = true;
  Nanos spent_{0};
  std::vector<Started> started_;
  std::map<ProxyId, std::string> refusals_;
};

TEST_F(PollSchedulerTest, AtRestOneSlowPollEach15Seconds) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  RunUntil(seconds(61));
  ASSERT_EQ(started_.size(), 5u);
  for (size_t i = 0; i < started_.size(); ++i) {
    EXPECT_EQ(started_[i].kind, PollKind::kSlow);
    EXPECT_EQ(started_[i].at, i * seconds(15));
  }
}

TEST_F(PollSchedulerTest, FastDemandPollsEach50MillisecondsUntilItEnds) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  RunUntil(seconds(20));
  ASSERT_EQ(started_.size(), 2u);
  scheduler_.SetDemand(Fast(), At(now_));
  RunUntil(seconds(21));
  EXPECT_EQ(started_[2].at, seconds(20)) << "at once";
  EXPECT_EQ(Count(PollKind::kFast), 20u);
  scheduler_.SetDemand({}, At(now_));
  RunUntil(seconds(29));
  EXPECT_EQ(Count(PollKind::kFast), 20u);
}

TEST_F(PollSchedulerTest, SlowPollsGoOnDuringAWindow) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  scheduler_.SetDemand(Fast(), At(Nanos(0)));
  RunUntil(seconds(31));
  EXPECT_EQ(Count(PollKind::kSlow), 3u);
}

TEST_F(PollSchedulerTest, WindowThatOutlivesTheBucketKeepsTheShare) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  scheduler_.SetDemand(Fast(), At(Nanos(0)));
  cost_ = milliseconds(10);  // 20 % of the main thread at the fast pace
  RunUntil(seconds(600));
  const Nanos allowed = milliseconds(900) + seconds(600) / 50;
  EXPECT_LE(spent_, allowed + cost_);
  EXPECT_GE(spent_, allowed - cost_ * 2) << "and uses what it is allowed";
  // At the start, 50 ms (and the poll's own time counts into that); at the end 10 ms / 2 %.
  EXPECT_EQ(started_[5].at - started_[4].at, milliseconds(50));
  const Nanos last = started_.back().at - started_[started_.size() - 2].at;
  EXPECT_NEAR(static_cast<double>(last.count()), 500e6, 5e6);
}

TEST_F(PollSchedulerTest, OnePollPerProxyIsOutstanding) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  scheduler_.SetDemand(Fast(), At(Nanos(0)));
  ASSERT_EQ(scheduler_.Take(At(Nanos(0))).polls.size(), 1u);
  EXPECT_TRUE(scheduler_.Take(At(seconds(5))).polls.empty());
  EXPECT_EQ(scheduler_.NextWake(At(seconds(5))), BootTime::Max());
  scheduler_.Finished(kProxy, At(Nanos(0)), At(seconds(5)), milliseconds(1), true);
  EXPECT_EQ(scheduler_.Take(At(seconds(5))).polls.size(), 1u);
}

TEST_F(PollSchedulerTest, AnswerMustBeRequestedAtOrAfterTheInstant) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  ASSERT_EQ(scheduler_.Take(At(Nanos(0))).polls.size(), 1u);
  scheduler_.SetDemand(Answer(At(milliseconds(1))), At(milliseconds(1)));
  // The poll that was under way was requested before: it is no answer.
  scheduler_.Finished(kProxy, At(Nanos(0)), At(milliseconds(2)), milliseconds(1), true);
  const auto due = scheduler_.Take(At(milliseconds(60)));
  ASSERT_EQ(due.polls.size(), 1u);
  EXPECT_EQ(due.polls[0].kind, PollKind::kAnswer);
  scheduler_.Finished(kProxy, At(milliseconds(60)), At(milliseconds(61)), milliseconds(1), true);
  EXPECT_TRUE(scheduler_.Take(At(seconds(5))).polls.empty());
  // The same demand, published again before the engine saw the answer, asks for nothing more.
  scheduler_.SetDemand(Answer(At(milliseconds(1))), At(seconds(5)));
  EXPECT_TRUE(scheduler_.Take(At(seconds(6))).polls.empty());
}

TEST_F(PollSchedulerTest, AnswerWantedInTheFutureWaitsForItsInstant) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  RunUntil(seconds(1));
  scheduler_.SetDemand(Answer(At(seconds(3))), At(now_));
  RunUntil(seconds(4));
  ASSERT_EQ(started_.size(), 2u);
  EXPECT_EQ(started_[1].at, seconds(3));
}

TEST_F(PollSchedulerTest, FailedPollIsAnAnswer) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  scheduler_.SetDemand(Answer(At(Nanos(0))), At(Nanos(0)));
  ok_ = false;
  RunUntil(milliseconds(90));
  EXPECT_EQ(started_.size(), 1u);
}

TEST_F(PollSchedulerTest, QuarterOfTheBucketIsKeptForAnswers) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  ASSERT_EQ(scheduler_.Take(At(Nanos(0))).polls.size(), 1u);
  // 1200 ms in the bucket; a poll of 1000 ms leaves 200, which is below the floor of 300.
  scheduler_.Finished(kProxy, At(Nanos(0)), At(seconds(1)), milliseconds(1000), true);
  scheduler_.SetDemand(Fast(), At(seconds(1)));
  EXPECT_TRUE(scheduler_.Take(At(seconds(2))).polls.empty());
  PollDemand demand = Fast();
  demand.proxies[kProxy].answer_after = At(seconds(2));
  scheduler_.SetDemand(demand, At(seconds(2)));
  const auto due = scheduler_.Take(At(seconds(2)));
  ASSERT_EQ(due.polls.size(), 1u);
  EXPECT_EQ(due.polls[0].kind, PollKind::kAnswer);
}

TEST_F(PollSchedulerTest, AnswerThatTheBudgetCannotGiveInTimeIsRefusedOnce) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  ASSERT_EQ(scheduler_.Take(At(Nanos(0))).polls.size(), 1u);
  scheduler_.Finished(kProxy, At(Nanos(0)), At(seconds(3)), seconds(3), true);  // deep in debt
  scheduler_.SetDemand(Answer(At(seconds(3))), At(seconds(3)));
  auto due = scheduler_.Take(At(seconds(3)));
  EXPECT_TRUE(due.polls.empty());
  ASSERT_EQ(due.refusals.size(), 1u);
  EXPECT_THAT(due.refusals[0].reason, HasSubstr("spent"));
  EXPECT_TRUE(scheduler_.Take(At(seconds(4))).refusals.empty());
  scheduler_.SetDemand(Answer(At(seconds(4))), At(seconds(4)));
  EXPECT_EQ(scheduler_.Take(At(seconds(4))).refusals.size(), 1u) << "a later wait is another one";
  EXPECT_GT(scheduler_.NextWake(At(seconds(4))), At(seconds(4))) << "nothing to spin for";
}

TEST_F(PollSchedulerTest, AnswerThatTheBudgetGivesSoonIsWaitedFor) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  ASSERT_EQ(scheduler_.Take(At(Nanos(0))).polls.size(), 1u);
  scheduler_.Finished(kProxy, At(Nanos(0)), At(Nanos(0)), milliseconds(1220), true);  // debt 20 ms
  scheduler_.SetDemand(Answer(At(milliseconds(100))), At(milliseconds(100)));
  RunUntil(seconds(2));
  EXPECT_TRUE(refusals_.empty());
  ASSERT_EQ(started_.size(), 1u);
  EXPECT_NEAR(static_cast<double>(started_[0].at.count()), 1e9, 1e6);
}

TEST_F(PollSchedulerTest, AnswerOfAnUnknownProxyIsRefusedAfterAWhile) {
  scheduler_.SetDemand(Answer(At(Nanos(0))), At(Nanos(0)));
  EXPECT_TRUE(scheduler_.Take(At(milliseconds(900))).refusals.empty());
  EXPECT_EQ(scheduler_.NextWake(At(milliseconds(900))), At(seconds(1)));
  const auto due = scheduler_.Take(At(seconds(1)));
  ASSERT_EQ(due.refusals.size(), 1u);
  EXPECT_EQ(due.refusals[0].proxy, kProxy);
  EXPECT_THAT(due.refusals[0].reason, HasSubstr("gone"));
  EXPECT_TRUE(scheduler_.Take(At(seconds(2))).refusals.empty());
}

TEST_F(PollSchedulerTest, LaterAttemptsDoNotProlongTheWaitForAnUnknownProxy) {
  for (int i = 0; i < 10; ++i) {
    scheduler_.SetDemand(Answer(At(milliseconds(100 * i))), At(milliseconds(100 * i)));
    EXPECT_TRUE(scheduler_.Take(At(milliseconds(100 * i))).refusals.empty());
  }
  EXPECT_EQ(scheduler_.Take(At(seconds(1))).refusals.size(), 1u);
}

TEST_F(PollSchedulerTest, RefusalsKeepThePaceOfPolls) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  ASSERT_EQ(scheduler_.Take(At(Nanos(0))).polls.size(), 1u);
  scheduler_.Finished(kProxy, At(Nanos(0)), At(seconds(3)), seconds(3), true);  // deep in debt
  size_t refusals = 0;
  for (int i = 0; i < 1000; ++i) {  // an attempt each millisecond
    const BootTime now = At(seconds(3) + milliseconds(i));
    scheduler_.SetDemand(Answer(now), now);
    refusals += scheduler_.Take(now).refusals.size();
  }
  EXPECT_EQ(refusals, 20u);
}

TEST_F(PollSchedulerTest, ProxyRegisteredAfterTheDemandIsAnsweredByItsFirstPoll) {
  scheduler_.SetDemand(Answer(At(Nanos(0))), At(Nanos(0)));
  scheduler_.Add(kProxy, At(milliseconds(500)));
  now_ = milliseconds(500);
  RunUntil(seconds(3));
  EXPECT_TRUE(refusals_.empty());
  EXPECT_EQ(started_.size(), 1u);
}

TEST_F(PollSchedulerTest, ProxyThatGoesWhileItsAnswerIsWantedIsRefused) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  ASSERT_EQ(scheduler_.Take(At(Nanos(0))).polls.size(), 1u);
  scheduler_.SetDemand(Answer(At(milliseconds(1))), At(milliseconds(1)));
  scheduler_.Remove(kProxy);
  scheduler_.Finished(kProxy, At(Nanos(0)), At(milliseconds(2)), milliseconds(1), true);
  EXPECT_EQ(scheduler_.Take(At(milliseconds(2))).refusals.size(), 1u);
}

TEST_F(PollSchedulerTest, FailuresAreRepeatedEverLaterUpToTheSlowPace) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  scheduler_.SetDemand(Fast(), At(Nanos(0)));
  ok_ = false;
  cost_ = Nanos(0);
  RunUntil(seconds(120));
  ASSERT_GE(started_.size(), 10u);
  EXPECT_EQ(started_[1].at, milliseconds(100));
  EXPECT_EQ(started_[2].at, milliseconds(300));
  EXPECT_EQ(started_[3].at, milliseconds(700));
  EXPECT_EQ(started_.back().at - started_[started_.size() - 2].at, seconds(15));
  for (const Started& poll : started_) EXPECT_EQ(poll.kind, PollKind::kSlow) << "tells it whole";
}

TEST_F(PollSchedulerTest, PollSoonIsOneMorePoll) {
  scheduler_.Add(kProxy, At(Nanos(0)));
  RunUntil(seconds(1));
  scheduler_.PollSoon(kProxy);
  RunUntil(seconds(10));
  ASSERT_EQ(started_.size(), 2u);
  EXPECT_EQ(started_[1].at, seconds(1));
  EXPECT_EQ(started_[1].kind, PollKind::kFast);
}

TEST(AdminBudgetTest, DebtIsPaidBackBeforeTheNextPoll) {
  AdminBudget budget(0.02, seconds(1), At(Nanos(0)));
  budget.Spend(seconds(2), At(Nanos(0)));
  EXPECT_EQ(budget.Level(At(Nanos(0))), -seconds(1));
  const BootTime paid = budget.AboveAt(Nanos(0), At(Nanos(0)));
  EXPECT_GT(paid, At(seconds(50)));
  EXPECT_LT(paid, At(seconds(50) + milliseconds(1)));
  EXPECT_EQ(budget.Level(At(seconds(1000))), seconds(1)) << "never above the burst";
}

}  // namespace
}  // namespace phantomd
