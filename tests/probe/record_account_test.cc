#include "agent/probe/record_account.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/probe/instants.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RecordAccountTest : public ::testing::Test {
 protected:
  RecordAccountTest() {
    AddProxy(7, "p");
    AddProxy(8, "q");
    // What was there before is nobody's.
    counted_[CONNECT_RECORD_ATTEMPT] = {.submitted = 1000, .lost = 50, .lost_at_ns = 1};
    account_.emplace(processes_, counted_, followed_, At(10));
  }

  void AddProxy(uint32_t pid, const char* id) {
    ProxyProcess process;
    process.process_id = pid;
    process.start = At(1);
    process.proxy_id = ProxyId(id);
    processes_.Add(process);
    followed_.push_back({.process_id = pid, .entry = {.start_ns = 1'000'000'000}});
  }
  void Made(uint32_t kind, uint64_t records) { counted_[kind].submitted += records; }
  void LostAt(uint32_t kind, uint64_t records, double at) {
    counted_[kind].lost += records;
    counted_[kind].lost_at_ns = static_cast<uint64_t>(At(at).nanos());
  }
  std::vector<Loss> Settle(double now, bool last = false) {
    return account_->Settle(counted_, followed_, At(now), last);
  }
  RecordBalance Balance(const std::string& what) const {
    for (const RecordBalance& balance : account_->Balances()) {
      if (balance.what == what) return balance;
    }
    return {};
  }
  static Loss Of(const char* what, uint64_t count, double from, double to, const char* proxy = "") {
    return {
        .what = what, .count = count, .from = At(from), .to = At(to), .proxy_id = ProxyId(proxy)};
  }

  ProxyProcesses processes_;
  KernelTotals counted_{};
  std::vector<FollowedProcess> followed_;
  std::optional<RecordAccount> account_;
};

TEST_F(RecordAccountTest, WhatIsReadIsBalanced) {
  Made(CONNECT_RECORD_ATTEMPT, 5);
  account_->Read(CONNECT_RECORD_ATTEMPT, 3);
  EXPECT_THAT(Settle(10.1), IsEmpty()) << "the other two may have been made while it was read";
  account_->Read(CONNECT_RECORD_ATTEMPT, 2);
  EXPECT_THAT(Settle(10.2), IsEmpty());
  EXPECT_THAT(account_->Limitations(), IsEmpty());
  EXPECT_EQ(Balance("attempt"), (RecordBalance{"attempt", 5, 5, 0}));
}

TEST_F(RecordAccountTest, LossLiesBetweenTheRoundBeforeAndItsLatest) {
  EXPECT_FALSE(account_->LostAttemptsSince(counted_));
  LostAt(CONNECT_RECORD_ATTEMPT, 7, 10.3);
  LostAt(CONNECT_RECORD_SYNC_FAILURE, 2, 10.2);
  LostAt(CONNECT_RECORD_ACCEPT, 1, 10.1);
  EXPECT_TRUE(account_->LostAttemptsSince(counted_));
  // The caller looked at its clock before the last of them.
  EXPECT_THAT(Settle(10.25), ElementsAre(Of("attempt", 9, 10, 10.3), Of("accept", 1, 10, 10.1)));
  EXPECT_THAT(Settle(10.35), IsEmpty());
  LostAt(CONNECT_RECORD_ATTEMPT, 1, 10.4);
  EXPECT_THAT(Settle(10.5), ElementsAre(Of("attempt", 1, 10.35, 10.4)));
  EXPECT_EQ(Balance("attempt"), (RecordBalance{"attempt", 0, 0, 10}));
}

TEST_F(RecordAccountTest, EveryCauseOfALossCounts) {
  connect_counters& attempts = counted_[CONNECT_RECORD_ATTEMPT];
  attempts.lost += 1;
  attempts.storage_failed += 2;
  attempts.unreadable += 4;
  attempts.lost_at_ns = static_cast<uint64_t>(At(10.1).nanos());
  EXPECT_THAT(Settle(10.2), ElementsAre(Of("attempt", 7, 10, 10.1)));
}

// Noticed at 10.1 s, when a socket went that had connected 3 s before, at the earliest.
TEST_F(RecordAccountTest, WhatWasUnseenMayHaveHappenedLongBefore) {
  counted_[CONNECT_RECORD_ATTEMPT].unseen = 1;
  counted_[CONNECT_RECORD_ATTEMPT].unseen_for_ns = 3'000'000'000;
  counted_[CONNECT_RECORD_ATTEMPT].lost_at_ns = static_cast<uint64_t>(At(10.1).nanos());
  EXPECT_THAT(Settle(10.2), ElementsAre(Of("attempt", 1, 7, 10.1)));
  LostAt(CONNECT_RECORD_ATTEMPT, 2, 10.3);
  EXPECT_THAT(Settle(10.4), ElementsAre(Of("attempt", 2, 10.2, 10.3))) << "nothing unseen";
}

TEST_F(RecordAccountTest, LossIsToldByProxyAndTheRestWithoutOne) {
  LostAt(CONNECT_RECORD_ATTEMPT, 10, 10.1);
  followed_[0].entry.others.lost = 3;
  followed_[0].entry.main_thread.lost = 2;
  followed_[1].entry.others.lost = 1;
  // Not known any more.
  followed_.push_back({.process_id = 9, .entry = {.start_ns = 5, .others = {.lost = 1}}});
  EXPECT_THAT(Settle(10.2),
              ElementsAre(Of("attempt", 5, 10, 10.1, "p"), Of("attempt", 1, 10, 10.1, "q"),
                          Of("attempt", 4, 10, 10.1)));
  LostAt(CONNECT_RECORD_ATTEMPT, 2, 10.3);
  followed_[1].entry.others.lost = 3;
  EXPECT_THAT(Settle(10.4), ElementsAre(Of("attempt", 2, 10.2, 10.3, "q")));
}

// Asking costs the kernel more than all the rest: not every round does.
TEST_F(RecordAccountTest, SkippedRunsAreALossOfUnknownCountToldWhenItIsSurelyOver) {
  EXPECT_THAT(account_->SettleSkipped(0, At(10.1)), IsEmpty());
  EXPECT_THAT(account_->SettleSkipped(3, At(10.3)), IsEmpty());
  EXPECT_EQ(account_->told_skips(), 0u) << "an agent that ends here leaves them to the next";
  EXPECT_THAT(Settle(10.4), IsEmpty());
  Loss loss = Of("attempt", 0, 10.1, 10.5);
  loss.count_unknown = true;
  EXPECT_THAT(account_->SettleSkipped(3, At(10.5)), ElementsAre(loss));
  EXPECT_EQ(account_->told_skips(), 3u);
  EXPECT_THAT(account_->SettleSkipped(3, At(10.6)), IsEmpty());
}

TEST_F(RecordAccountTest, TheLastSkippedRunsAreToldAtOnce) {
  EXPECT_THAT(account_->SettleSkipped(1, At(10.1)), IsEmpty());
  Loss first = Of("attempt", 0, 10, 10.3);
  first.count_unknown = true;
  Loss second = Of("attempt", 0, 10.1, 10.3);
  second.count_unknown = true;
  EXPECT_THAT(account_->SettleSkipped(2, At(10.3), /*last=*/true), ElementsAre(first, second));
  EXPECT_EQ(account_->told_skips(), 2u);
}

// The counts of processes outlive an agent whose maps are pinned.
TEST_F(RecordAccountTest, WhatAProcessHadLostBeforeIsNotNews) {
  followed_[0].entry.others.lost = 1000;
  account_.emplace(processes_, counted_, followed_, At(10));
  LostAt(CONNECT_RECORD_ATTEMPT, 50, 10.1);
  EXPECT_THAT(Settle(10.1), ElementsAre(Of("attempt", 50, 10, 10.1)));
}

TEST_F(RecordAccountTest, RecordsThatNeverComeAreALossAndAreSaid) {
  Made(CONNECT_RECORD_ATTEMPT, 5);
  account_->Read(CONNECT_RECORD_ATTEMPT, 3);
  EXPECT_THAT(Settle(10.1), IsEmpty());
  EXPECT_THAT(Settle(12.09), IsEmpty());
  EXPECT_THAT(Settle(12.1), ElementsAre(Of("attempt", 2, 10, 10.1)));
  EXPECT_THAT(account_->Limitations(),
              ElementsAre(HasSubstr("2 records of the kind 'attempt' that the kernel made were "
                                    "not read")));
  EXPECT_THAT(Settle(15), IsEmpty()) << "told once";
  Made(CONNECT_RECORD_ATTEMPT, 4);
  EXPECT_THAT(Settle(15.1), IsEmpty());
  EXPECT_THAT(Settle(17.1), ElementsAre(Of("attempt", 4, 15, 15.1))) << "these are others";
}

TEST_F(RecordAccountTest, AfterTheLastRoundWhateverWasNotReadIsMissingAtOnce) {
  Made(CONNECT_RECORD_ATTEMPT, 5);
  account_->Read(CONNECT_RECORD_ATTEMPT, 4);
  EXPECT_THAT(Settle(10.1), IsEmpty());
  Made(CONNECT_RECORD_ATTEMPT, 3);
  Made(CONNECT_RECORD_END, 1);
  account_->Read(CONNECT_RECORD_ATTEMPT, 1);
  EXPECT_THAT(Settle(10.3, /*last=*/true),
              ElementsAre(Of("attempt", 3, 10.1, 10.3), Of("connection_end", 1, 10.1, 10.3)));
}

// A round may stop at a record that is still being written, and leave what lies behind it.
TEST_F(RecordAccountTest, RecordsThatAreLateAreNoLoss) {
  Made(CONNECT_RECORD_ATTEMPT, 1000);
  EXPECT_THAT(Settle(10.1), IsEmpty());
  EXPECT_THAT(Settle(10.101), IsEmpty());
  account_->Read(CONNECT_RECORD_ATTEMPT, 1000);
  EXPECT_THAT(Settle(10.2), IsEmpty());
  EXPECT_THAT(Settle(13), IsEmpty());
  EXPECT_THAT(account_->Limitations(), IsEmpty());
}

TEST_F(RecordAccountTest, RecordsThatComeVeryLateHideNoLaterLoss) {
  Made(CONNECT_RECORD_ATTEMPT, 1000);
  EXPECT_THAT(Settle(10.1), IsEmpty());
  EXPECT_THAT(Settle(13), ElementsAre(Of("attempt", 1000, 10, 10.1)));
  account_->Read(CONNECT_RECORD_ATTEMPT, 1000);
  Made(CONNECT_RECORD_ATTEMPT, 800);
  EXPECT_THAT(Settle(13.1), IsEmpty());
  EXPECT_THAT(Settle(16), ElementsAre(Of("attempt", 800, 13, 13.1)));
  EXPECT_THAT(account_->Limitations(), ElementsAre(HasSubstr("800 records")));
}

TEST_F(RecordAccountTest, MoreThanWasMadeIsSaid) {
  Made(CONNECT_RECORD_EXEC, 1);
  account_->Read(CONNECT_RECORD_EXEC, 2);
  EXPECT_THAT(Settle(10.1), IsEmpty());
  EXPECT_THAT(account_->Limitations(),
              ElementsAre(HasSubstr("1 more records of the kind 'process' were read")));
}

}  // namespace
}  // namespace phantomd
