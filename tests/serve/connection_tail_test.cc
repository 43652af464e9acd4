#include "agent/serve/connection_tail.h"

#include <gtest/gtest.h>

#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

// A report whose ring holds the connections first..last in chunks of three.
Report RingOf(uint64_t first, uint64_t last) {
  std::vector<Connection> connections;
  for (uint64_t i = first; i <= last; ++i) connections.push_back(testing::SampleConnection(i));
  Report out;
  out.connections = testing::Chunks(connections, 3);
  return out;
}

std::vector<uint64_t> Sequences(const ConnectionTail::News& news) {
  std::vector<uint64_t> out;
  for (const auto& connection : news.connections) out.push_back(connection->sequence);
  return out;
}

using Seen = std::vector<uint64_t>;

TEST(ConnectionTailTest, BeginsBehindTheNewest) {
  ConnectionTail tail(RingOf(1, 7));
  EXPECT_EQ(Sequences(tail.Next(RingOf(1, 7))), Seen{});
  EXPECT_EQ(Sequences(tail.Next(RingOf(1, 8))), Seen{8});
}

TEST(ConnectionTailTest, GivesEachConnectionOnce) {
  ConnectionTail tail{Report()};
  EXPECT_EQ(Sequences(tail.Next(RingOf(1, 2))), (Seen{1, 2}));
  EXPECT_EQ(Sequences(tail.Next(RingOf(1, 5))), (Seen{3, 4, 5}));
  EXPECT_EQ(Sequences(tail.Next(RingOf(1, 5))), Seen{});
  EXPECT_EQ(Sequences(tail.Next(RingOf(4, 6))), Seen{6});
}

TEST(ConnectionTailTest, CountsWhatLeftTheRingUnseen) {
  ConnectionTail tail(RingOf(1, 7));
  const ConnectionTail::News news = tail.Next(RingOf(10, 12));
  EXPECT_EQ(news.missed, 2u);
  EXPECT_EQ(Sequences(news), (Seen{10, 11, 12}));
}

TEST(ConnectionTailTest, NothingIsMissedWhenTheRingGoesOnWhereTheReaderWas) {
  ConnectionTail tail(RingOf(1, 7));
  EXPECT_EQ(tail.Next(RingOf(8, 9)).missed, 0u);
}

TEST(ConnectionTailTest, EmptyChunkIsNoEnd) {
  Report report = RingOf(1, 4);
  report.connections.insert(report.connections.begin() + 1,
                            std::make_shared<const ConnectionChunk>());
  report.connections.push_back(std::make_shared<const ConnectionChunk>());
  ConnectionTail fresh{Report()};
  EXPECT_EQ(Sequences(fresh.Next(report)), (Seen{1, 2, 3, 4}));
  ConnectionTail behind(report);
  EXPECT_EQ(Sequences(behind.Next(RingOf(1, 5))), Seen{5});
}

}  // namespace
}  // namespace phantomd
