#include "agent/ledger/metric_counters.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace phantomd {
namespace {

const SourceLabels kWebapp = {"shop", "webapp", "webapp-1"};
const SourceLabels kWebapp2 = {"shop", "webapp", "webapp-2"};
const SourceLabels kOther = {"", "other", ""};

BootTime At(int64_t seconds) { return BootTime::FromNanos(seconds * 1'000'000'000); }

MetricCells::Connections Dead(SourceLabels source, std::string revision) {
  return {std::move(source),
          {"shop", "catalog", std::move(revision)},
          DestinationClass::kDead,
          Certainty::kCertain,
          Cause::kStaleEds,
          Outcome::kAbandoned,
          Layer::kL4,
          0};
}

void Attempt(MetricCounters& counters, const SourceLabels& source, DestinationClass destination) {
  counters.CountAttempt(*counters.AddSource(source), Initiator::kProxy, destination,
                        Outcome::kEstablished);
}

TEST(MetricCountersTest, EachCombinationOfLabelsIsACell) {
  MetricCounters counters(100);
  Attempt(counters, kWebapp2, DestinationClass::kLive);
  Attempt(counters, kWebapp, DestinationClass::kLive);
  Attempt(counters, kWebapp, DestinationClass::kDead);
  Attempt(counters, kWebapp, DestinationClass::kLive);
  const MetricCells cells = counters.Cells();
  ASSERT_EQ(cells.attempts.size(), 3u);
  EXPECT_EQ(cells.attempts[0].source, kWebapp);
  EXPECT_EQ(cells.attempts[0].destination_class, DestinationClass::kLive);
  EXPECT_EQ(cells.attempts[0].count, 2u);
  EXPECT_EQ(cells.attempts[1].destination_class, DestinationClass::kDead);
  EXPECT_EQ(cells.attempts[2].source, kWebapp2);
  EXPECT_EQ(counters.cells(), 3u);
}

TEST(MetricCountersTest, BeyondTheCapNewLabelsAreOther) {
  MetricCounters counters(2);
  Attempt(counters, kWebapp, DestinationClass::kLive);
  Attempt(counters, kWebapp, DestinationClass::kDead);
  Attempt(counters, kWebapp2, DestinationClass::kLive);
  Attempt(counters, kWebapp, DestinationClass::kReused);
  Attempt(counters, kWebapp, DestinationClass::kLive);
  const MetricCells cells = counters.Cells();
  ASSERT_EQ(cells.attempts.size(), 4u);
  EXPECT_EQ(cells.attempts[0].source, kOther);
  EXPECT_EQ(cells.attempts[0].destination_class, DestinationClass::kLive);
  EXPECT_EQ(cells.attempts[1].source, kOther);
  EXPECT_EQ(cells.attempts[1].destination_class, DestinationClass::kReused);
  EXPECT_EQ(cells.attempts[2].count, 2u);
  counters.CountConnection(Dead(kWebapp, "v1"), Nanos(5), At(1));
  const MetricCells more = counters.Cells();
  ASSERT_EQ(more.connections.size(), 1u);
  EXPECT_EQ(more.connections[0].source, kOther);
  EXPECT_EQ(more.connections[0].destination.workload, "other");
  EXPECT_EQ(more.connections[0].cause, Cause::kStaleEds);
  ASSERT_EQ(more.waits.size(), 1u);
  EXPECT_EQ(more.waits[0].destination_workload, "other");
  EXPECT_EQ(counters.cells(), 2u);
}

TEST(MetricCountersTest, SumsDoNotDependOnTheCap) {
  for (size_t cap : {0u, 1u, 7u, 30u, 10'000u}) {
    MetricCounters counters(cap);
    std::mt19937 random(cap + 1);
    uint64_t live = 0, dead = 0;
    for (int i = 0; i < 2000; ++i) {
      const SourceLabels source = {"shop", "w" + std::to_string(random() % 20), "p"};
      const bool is_dead = random() % 3 == 0;
      Attempt(counters, source, is_dead ? DestinationClass::kDead : DestinationClass::kLive);
      ++(is_dead ? dead : live);
      if (is_dead) {
        counters.CountConnection(Dead(source, "v" + std::to_string(random() % 5)), Nanos(1), At(1));
      }
    }
    const MetricCells cells = counters.Cells();
    uint64_t counted_live = 0, counted_dead = 0, connections = 0, waits = 0;
    for (const auto& cell : cells.attempts) {
      ++(cell.destination_class == DestinationClass::kDead ? counted_dead : counted_live);
      (cell.destination_class == DestinationClass::kDead ? counted_dead : counted_live) +=
          cell.count - 1;
    }
    for (const auto& cell : cells.connections) connections += cell.count;
    for (const auto& cell : cells.waits) waits += cell.histogram.count;
    EXPECT_EQ(counted_live, live);
    EXPECT_EQ(counted_dead, dead);
    EXPECT_EQ(connections, dead);
    EXPECT_EQ(waits, dead);
    EXPECT_LE(counters.cells(), cap);
  }
}

TEST(MetricCountersTest, HistogramBucketsIncludeTheirUpperBound) {
  MetricCounters counters(100);
  const struct {
    Nanos wait;
    size_t bucket;
  } kCases[] = {{Nanos(0), 0},
                {std::chrono::milliseconds(1), 0},
                {std::chrono::microseconds(1001), 1},
                {std::chrono::seconds(10), 11},
                {std::chrono::milliseconds(10001), 12},
                {std::chrono::seconds(131), 14}};
  for (const auto& c : kCases) {
    MetricCounters one(100);
    one.CountConnection(Dead(kWebapp, "v1"), c.wait, At(1));
    const Histogram histogram = one.Cells().waits.at(0).histogram;
    EXPECT_EQ(histogram.buckets[c.bucket], 1u) << c.wait.count();
    EXPECT_EQ(histogram.count, 1u);
  }
  counters.ObserveWindow("shop", "catalog", std::chrono::milliseconds(1500), At(1));
  counters.ObserveWindow("shop", "catalog", std::chrono::milliseconds(500), At(1));
  const MetricCells cells = counters.Cells();
  ASSERT_EQ(cells.windows.size(), 1u);
  EXPECT_DOUBLE_EQ(cells.windows[0].histogram.sum_seconds, 2.0);
  EXPECT_EQ(cells.windows[0].histogram.buckets[5], 1u);
  EXPECT_EQ(cells.windows[0].histogram.buckets[3], 1u);
}

TEST(MetricCountersTest, ASourceTakesItsSeriesAlong) {
  MetricCounters counters(100);
  for (const SourceLabels& source : {kWebapp, kWebapp2}) {
    Attempt(counters, source, DestinationClass::kDead);
    counters.CountConnection(Dead(source, "v1"), Nanos(1), At(1));
  }
  counters.Expire(kWebapp);
  MetricCells cells = counters.Cells();
  ASSERT_EQ(cells.attempts.size(), 1u);
  EXPECT_EQ(cells.attempts[0].source, kWebapp2);
  ASSERT_EQ(cells.connections.size(), 1u);
  EXPECT_EQ(cells.connections[0].source, kWebapp2);
  ASSERT_EQ(cells.waits.size(), 1u);  // the workload is still there
  counters.Expire(kWebapp2);
  cells = counters.Cells();
  EXPECT_TRUE(cells.attempts.empty());
  EXPECT_TRUE(cells.connections.empty());
  EXPECT_TRUE(cells.waits.empty());
  EXPECT_EQ(counters.cells(), 0u);
}

TEST(MetricCountersTest, CellsOfOldRolloutsGo) {
  MetricCounters counters(100);
  counters.AddSource(kWebapp);
  counters.CountConnection(Dead(kWebapp, "v1"), Nanos(1), At(10));
  counters.CountConnection(Dead(kWebapp, "v2"), Nanos(1), At(20));
  counters.ObserveWindow("shop", "catalog", Nanos(1), At(10));
  counters.Compact(At(10));
  EXPECT_EQ(counters.cells(), 4u);
  counters.Compact(At(11));
  const MetricCells cells = counters.Cells();
  ASSERT_EQ(cells.connections.size(), 1u);
  EXPECT_EQ(cells.connections[0].destination.revision, "v2");
  EXPECT_EQ(cells.waits.size(), 1u);
  EXPECT_TRUE(cells.windows.empty());
  EXPECT_EQ(counters.cells(), 2u);
}

}  // namespace
}  // namespace phantomd
