#include "agent/engine/held_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/scene.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using testing::Ip;
using ::testing::IsEmpty;
using testing::Seconds;

class HeldQueueTest : public ::testing::Test {
 protected:
  Ticket Add(double started, const char* ip = "10.0.0.1") {
    Attempt attempt;
    attempt.started = Seconds(started);
    attempt.ended = Seconds(started + 1);
    attempt.destination = {Ip(ip), 80};
    return queue_.Add(attempt, attempt.ended, attempt.ended + std::chrono::seconds(3));
  }
  std::optional<Ticket> Due(double until) { return queue_.FirstDue(Seconds(until)); }

  HeldQueue queue_;
  const ProxyId proxy_{"p"};
};

TEST_F(HeldQueueTest, TheFirstDueComesFirstAndNotBeforeItsTime) {
  const Ticket late = Add(20);
  const Ticket early = Add(10);
  EXPECT_FALSE(Due(13.999));
  EXPECT_EQ(Due(14), early);
  queue_.Remove(early);
  EXPECT_FALSE(Due(23.999));
  EXPECT_EQ(Due(100), late);
}

TEST_F(HeldQueueTest, OfOneInstantTheFirstToArriveComesFirst) {
  const Ticket a = Add(10);
  const Ticket b = Add(10);
  EXPECT_EQ(Due(14), a);
  queue_.Remove(a);
  EXPECT_EQ(Due(14), b);
}

TEST_F(HeldQueueTest, WaitingMovesTheTurnToTheLimit) {
  const Ticket a = Add(10);
  queue_.Wait(a, Seconds(74), {.address = true});
  EXPECT_FALSE(Due(73.999));
  EXPECT_EQ(Due(74), a);
}

TEST_F(HeldQueueTest, TurnsAreRightHoweverOftenAWaitWasChanged) {
  const Ticket a = Add(10), b = Add(11), c = Add(12);
  for (int i = 0; i < 5000; ++i) {
    queue_.Wait(a, Seconds(100 + i), {.address = true});
    queue_.Wait(b, Seconds(9000 - i), {.nodes = true});
  }
  EXPECT_EQ(Due(15.999), std::nullopt);
  EXPECT_EQ(Due(16), c);
  queue_.Remove(c);
  EXPECT_FALSE(Due(4000.999));
  EXPECT_EQ(Due(4001), b);
  queue_.Remove(b);
  EXPECT_FALSE(Due(5098.999));
  EXPECT_EQ(Due(5099), a);
}

TEST_F(HeldQueueTest, WhatAnotherHeldWaitsAsItDidThere) {
  const Ticket a = Add(10), b = Add(11);
  queue_.Wait(a, Seconds(74), {.address = true, .poll = proxy_});
  HeldQueue heir;
  for (const auto& [ticket, held] : queue_.all()) heir.Restore(held);
  EXPECT_THAT(heir.WokenByAddress(Ip("10.0.0.1")), ElementsAre(1u));
  EXPECT_THAT(heir.WokenByPoll(proxy_), ElementsAre(1u));
  EXPECT_EQ(heir.PollNeededAfter(proxy_), Seconds(10));
  EXPECT_EQ(heir.FirstDue(Seconds(15)), 2u);
  EXPECT_EQ(heir.Get(2).attempt, queue_.Get(b).attempt);
  heir.Remove(2);
  EXPECT_EQ(heir.FirstDue(Seconds(74)), 1u);
}

TEST_F(HeldQueueTest, EachWakeUpFindsThoseThatWaitForIt) {
  const Ticket address = Add(10, "10.0.0.1");
  const Ticket poll = Add(11, "10.0.0.2");
  const Ticket nodes = Add(12, "10.0.0.3");
  const Ticket feed = Add(13, "10.0.0.4");
  queue_.Wait(address, Seconds(70), {.address = true});
  queue_.Wait(poll, Seconds(70), {.poll = proxy_});
  queue_.Wait(nodes, Seconds(70), {.nodes = true});
  queue_.Wait(feed, Seconds(70), {.feed = true});
  EXPECT_THAT(queue_.WokenByAddress(Ip("10.0.0.1")), ElementsAre(address));
  EXPECT_THAT(queue_.WokenByAddress(Ip("10.0.0.2")), IsEmpty());
  EXPECT_THAT(queue_.WokenByPoll(proxy_), ElementsAre(poll));
  EXPECT_THAT(queue_.WokenByPoll(ProxyId("q")), IsEmpty());
  EXPECT_THAT(queue_.WokenByNodes(), ElementsAre(nodes));
  EXPECT_THAT(queue_.WokenByFeed(), ElementsAre(feed));
}

TEST_F(HeldQueueTest, WaitingForSomethingElseEndsTheFirstWait) {
  const Ticket a = Add(10);
  queue_.Wait(a, Seconds(70), {.address = true, .nodes = true, .feed = true, .poll = proxy_});
  queue_.Wait(a, Seconds(70), {.nodes = true});
  EXPECT_THAT(queue_.WokenByAddress(Ip("10.0.0.1")), IsEmpty());
  EXPECT_THAT(queue_.WokenByPoll(proxy_), IsEmpty());
  EXPECT_THAT(queue_.WokenByFeed(), IsEmpty());
  EXPECT_THAT(queue_.WokenByNodes(), ElementsAre(a));
  queue_.Remove(a);
  EXPECT_THAT(queue_.WokenByNodes(), IsEmpty());
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(HeldQueueTest, OnePollServesAllThatWaitForIt) {
  const Ticket later = Add(12);
  const Ticket earlier = Add(11);
  queue_.Wait(later, Seconds(70), {.poll = proxy_});
  queue_.Wait(earlier, Seconds(70), {.poll = proxy_});
  EXPECT_EQ(queue_.PollNeededAfter(proxy_), Seconds(12));
  EXPECT_THAT(queue_.WokenByPoll(proxy_), ElementsAre(later, earlier)) << "in order of arrival";
  queue_.Remove(later);
  EXPECT_EQ(queue_.PollNeededAfter(proxy_), Seconds(11));
  queue_.Remove(earlier);
  EXPECT_FALSE(queue_.PollNeededAfter(proxy_).is_set());
}

TEST_F(HeldQueueTest, TheEarliestEndIsThatOfAllThatAreHeld) {
  EXPECT_EQ(queue_.EarliestEnd(), BootTime::Max());
  Add(20);
  Add(10);
  EXPECT_EQ(queue_.EarliestEnd(), Seconds(11));
}

}  // namespace
}  // namespace phantomd
