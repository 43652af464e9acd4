// No test sleeps: each waits for the mailbox itself, and a wait that is never answered ends with
// the test's timeout.

#include "agent/base/mailbox.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phantomd {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr seconds kLong{60};  // only ever reached by a failure

// Spins until a sender of `mailbox` is blocked.
template <typename T>
void UntilBlocked(const Mailbox<T>& mailbox, uint64_t times) {
  while (mailbox.blocked() < times) std::this_thread::yield();
}

TEST(MailboxTest, FirstInFirstOut) {
  Mailbox<int> mailbox(10);
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(mailbox.Post(i));
  EXPECT_EQ(mailbox.Take(nanoseconds(0)), 1);
  EXPECT_THAT(mailbox.TakeAll(), ElementsAre(2, 3));
  EXPECT_THAT(mailbox.TakeAll(), IsEmpty());
  EXPECT_EQ(mailbox.blocked(), 0u);
}

TEST(MailboxTest, UrgentValuesAndThoseThatFindNoRoomWakeTheReader) {
  std::atomic<int> woken = 0;
  Mailbox<int> mailbox(
      2, [](int value) { return value < 0; }, [&] { ++woken; });
  mailbox.Post(1);
  EXPECT_EQ(woken, 0);
  mailbox.Post(-1);
  EXPECT_EQ(woken, 1);
  std::thread sender([&] { mailbox.Post(2); });
  UntilBlocked(mailbox, 1);
  EXPECT_THAT(mailbox.TakeAll(), ElementsAre(1, -1));
  sender.join();
  EXPECT_EQ(woken, 2);
  EXPECT_TRUE(mailbox.TryPost(-2));
  EXPECT_EQ(woken, 3);
  EXPECT_FALSE(mailbox.TryPost(-3)) << "full";
  EXPECT_EQ(woken, 3) << "nobody waits: the sender was told";
}

TEST(MailboxTest, EmptyMailboxGivesNothingInTime) {
  Mailbox<int> mailbox(1);
  EXPECT_EQ(mailbox.Take(nanoseconds(0)), std::nullopt);
  EXPECT_EQ(mailbox.Take(std::chrono::microseconds(1)), std::nullopt);
  EXPECT_FALSE(mailbox.closed());
}

TEST(MailboxTest, WaitingReaderGetsWhatIsPosted) {
  Mailbox<int> mailbox(1);
  std::thread sender([&] { mailbox.Post(7); });
  EXPECT_EQ(mailbox.Take(kLong), 7);
  sender.join();
}

TEST(MailboxTest, FullMailboxBlocksTheSenderAndCountsIt) {
  Mailbox<int> mailbox(2);
  mailbox.Post(1);
  mailbox.Post(2);
  std::atomic<bool> posted = false;
  std::thread sender([&] {
    EXPECT_TRUE(mailbox.Post(3));
    posted = true;
  });
  UntilBlocked(mailbox, 1);
  EXPECT_FALSE(posted);
  EXPECT_EQ(mailbox.Take(kLong), 1);  // makes room for one
  sender.join();
  EXPECT_THAT(mailbox.TakeAll(), ElementsAre(2, 3));
  EXPECT_EQ(mailbox.blocked(), 1u);
}

TEST(MailboxTest, TakeAllFreesEveryBlockedSender) {
  Mailbox<int> mailbox(2);
  mailbox.Post(1);
  mailbox.Post(2);
  std::vector<std::thread> senders;
  for (int i = 3; i <= 4; ++i) senders.emplace_back([&mailbox, i] { mailbox.Post(i); });
  UntilBlocked(mailbox, 2);
  EXPECT_THAT(mailbox.TakeAll(), ElementsAre(1, 2));
  for (std::thread& sender : senders) sender.join();
  EXPECT_THAT(mailbox.TakeAll(), ::testing::UnorderedElementsAre(3, 4));
}

TEST(MailboxTest, ClosedMailboxTurnsSendersAwayAndGivesWhatIsLeft) {
  Mailbox<int> mailbox(10);
  mailbox.Post(1);
  mailbox.Close();
  EXPECT_TRUE(mailbox.closed());
  EXPECT_FALSE(mailbox.Post(2));
  EXPECT_EQ(mailbox.Take(kLong), 1);
  EXPECT_EQ(mailbox.Take(kLong), std::nullopt);  // at once
}

TEST(MailboxTest, CloseFreesABlockedSenderWhoseValueIsNotTaken) {
  Mailbox<int> mailbox(1);
  mailbox.Post(1);
  std::thread sender([&] { EXPECT_FALSE(mailbox.Post(2)); });
  UntilBlocked(mailbox, 1);
  mailbox.Close();
  sender.join();
  EXPECT_THAT(mailbox.TakeAll(), ElementsAre(1));
}

TEST(MailboxTest, CloseFreesAWaitingReader) {
  Mailbox<int> mailbox(1);
  std::thread reader([&] { EXPECT_EQ(mailbox.Take(kLong), std::nullopt); });
  mailbox.Close();
  reader.join();
}

TEST(MailboxTest, ValuesNeedNotBeCopied) {
  Mailbox<std::unique_ptr<int>> mailbox(1);
  mailbox.Post(std::make_unique<int>(7));
  EXPECT_EQ(**mailbox.Take(kLong), 7);
}

TEST(MailboxTest, ManySendersLoseNothingAndKeepTheirOrder) {
  constexpr int kSenders = 4;
  constexpr int kEach = 2'000;
  Mailbox<std::pair<int, int>> mailbox(8);
  std::vector<std::thread> senders;
  for (int s = 0; s < kSenders; ++s) {
    senders.emplace_back([&mailbox, s] {
      for (int i = 0; i < kEach; ++i) mailbox.Post({s, i});
    });
  }
  std::vector<int> next(kSenders, 0);
  for (int taken = 0; taken < kSenders * kEach;) {
    std::deque<std::pair<int, int>> batch = mailbox.TakeAll();
    if (const auto one = mailbox.Take(nanoseconds(0))) batch.push_back(*one);
    for (const auto& [sender, value] : batch) {
      ASSERT_EQ(value, next[sender]++);
      ++taken;
    }
  }
  for (std::thread& sender : senders) sender.join();
  EXPECT_THAT(next, ::testing::Each(kEach));
  EXPECT_THAT(mailbox.TakeAll(), IsEmpty());
}

}  // namespace
}  // namespace phantomd
