#include "agent/ledger/wait_sketch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace phantomd {
namespace {

TEST(WaitSketchTest, MaximumAndTotalAreExact) {
  WaitSketch sketch;
  for (const int64_t wait : {int64_t{3'000'000'007}, int64_t{1}, int64_t{10'000'000'000}})
    sketch.Add(Nanos(wait));
  EXPECT_EQ(sketch.max(), Nanos(10'000'000'000));
  EXPECT_EQ(sketch.total(), Nanos(13'000'000'008));
  EXPECT_EQ(sketch.count(), 3u);
}

TEST(WaitSketchTest, NothingWaitedIsZero) {
  WaitSketch sketch;
  EXPECT_EQ(sketch.Quantile(0.5), Nanos(0));
  sketch.Add(Nanos(0));
  sketch.Add(Nanos(-5));  // stamps of two processors
  EXPECT_EQ(sketch.Quantile(0.5), Nanos(0));
  EXPECT_EQ(sketch.total(), Nanos(0));
}

TEST(WaitSketchTest, MedianIsTheLowerMiddle) {
  WaitSketch sketch;
  sketch.Add(std::chrono::seconds(1));
  sketch.Add(std::chrono::seconds(10));
  EXPECT_NEAR(static_cast<double>(sketch.Quantile(0.5).count()), 1e9, 1e7);
  sketch.Add(std::chrono::seconds(10));
  EXPECT_NEAR(static_cast<double>(sketch.Quantile(0.5).count()), 1e10, 1e8);
  EXPECT_LE(sketch.Quantile(1), sketch.max());
}

TEST(WaitSketchTest, QuantilesOfRandomWaitsAreWithinOnePercent) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    WaitSketch parts[2], sum;
    std::vector<int64_t> exact;
    for (int i = 0; i < 3000; ++i) {
      // From microseconds to hours.
      const double exponent = 3 + 10.5 * static_cast<double>(random() % 100'000) / 1e5;
      const auto wait = static_cast<int64_t>(std::pow(10, exponent));
      parts[random() % 2].Add(Nanos(wait));
      exact.push_back(wait);
    }
    sum.Add(parts[0]);
    sum.Add(parts[1]);
    std::sort(exact.begin(), exact.end());
    for (double q : {0.01, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank = static_cast<size_t>(std::ceil(q * 3000)) - 1;
      const auto truth = static_cast<double>(exact[rank]);
      EXPECT_NEAR(static_cast<double>(sum.Quantile(q).count()), truth, truth * 0.01 + 1)
          << q;  // whole nanoseconds
    }
    EXPECT_EQ(sum.count(), 3000u);
    EXPECT_EQ(sum.max(), Nanos(exact.back()));
  }
}

}  // namespace
}  // namespace phantomd
