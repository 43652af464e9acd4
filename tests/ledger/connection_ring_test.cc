#include "agent/ledger/connection_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace phantomd {
namespace {

using ::testing::ElementsAre;

void Add(ConnectionRing& ring, uint64_t first, uint64_t last) {
  for (uint64_t i = first; i <= last; ++i) {
    auto connection = std::make_shared<Connection>();
    connection->sequence = i;
    ring.Add(std::move(connection));
  }
}

std::vector<std::vector<uint64_t>> Sequences(const ConnectionChunks& chunks) {
  std::vector<std::vector<uint64_t>> all;
  for (const auto& chunk : chunks) {
    all.emplace_back();
    for (const auto& connection : *chunk) all.back().push_back(connection->sequence);
  }
  return all;
}

TEST(ConnectionRingTest, TheOldestGoFirstAndAreCounted) {
  ConnectionRing ring(5, 2);
  EXPECT_TRUE(ring.Chunks().empty());
  Add(ring, 1, 5);
  EXPECT_THAT(Sequences(ring.Chunks()),
              ElementsAre(ElementsAre(1, 2), ElementsAre(3, 4), ElementsAre(5)));
  EXPECT_EQ(ring.dropped(), 0u);
  Add(ring, 6, 6);
  EXPECT_THAT(Sequences(ring.Chunks()),
              ElementsAre(ElementsAre(2), ElementsAre(3, 4), ElementsAre(5, 6)));
  Add(ring, 7, 7);
  EXPECT_THAT(Sequences(ring.Chunks()),
              ElementsAre(ElementsAre(3, 4), ElementsAre(5, 6), ElementsAre(7)));
  EXPECT_EQ(ring.dropped(), 2u);
  EXPECT_EQ(ring.size(), 5u);
}

TEST(ConnectionRingTest, FullChunksAreSharedAndWhatWasReadNeverChanges) {
  ConnectionRing ring(5, 2);
  Add(ring, 1, 3);
  const ConnectionChunks before = ring.Chunks();
  Add(ring, 4, 7);
  const ConnectionChunks after = ring.Chunks();
  EXPECT_THAT(Sequences(before), ElementsAre(ElementsAre(1, 2), ElementsAre(3)));
  EXPECT_EQ(after[0], ring.Chunks()[0]);
  EXPECT_EQ((*after[0])[0], (*before[1])[0]);  // the connection itself is never copied
}

TEST(ConnectionRingTest, SmallerThanAChunk) {
  ConnectionRing ring(3, 4);
  Add(ring, 1, 4);
  EXPECT_THAT(Sequences(ring.Chunks()), ElementsAre(ElementsAre(2, 3, 4)));
  Add(ring, 5, 9);
  EXPECT_EQ(ring.size(), 3u);
  EXPECT_EQ(ring.dropped(), 6u);
  std::vector<uint64_t> all;
  for (const auto& chunk : Sequences(ring.Chunks()))
    all.insert(all.end(), chunk.begin(), chunk.end());
  EXPECT_THAT(all, ElementsAre(7, 8, 9));
}

TEST(ConnectionRingTest, CapacityZeroKeepsNothingAndCountsAll) {
  ConnectionRing ring(0, 2);
  Add(ring, 1, 5);
  EXPECT_TRUE(ring.Chunks().empty());
  EXPECT_EQ(ring.dropped(), 5u);
}

}  // namespace
}  // namespace phantomd
