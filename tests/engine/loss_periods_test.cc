#include "agent/engine/loss_periods.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/scene.h"

namespace phantomd {
namespace {

using ::phantomd::testing::Seconds;
using ::testing::ElementsAre;

const ProxyId kP("p");
const ProxyId kQ("q");

Loss Lost(double from, double to, uint64_t count, const ProxyId& proxy = ProxyId()) {
  return {.what = "attempt",
          .count = count,
          .from = Seconds(from),
          .to = Seconds(to),
          .proxy_id = proxy,
          .count_unknown = count == 0};
}

class LossPeriodsTest : public ::testing::Test {
 protected:
  void Add(const Loss& loss) { periods_.Add(loss, loss.to); }
  std::vector<std::string> Periods() const {
    std::vector<std::string> out;
    periods_.Export([&](const LossPeriods::Period& period) {
      const Loss& loss = period.loss;
      out.push_back(loss.proxy_id.value() + " " + std::to_string(loss.count) +
                    (loss.count_unknown ? "? " : " ") +
                    std::to_string((loss.from - Seconds(0)) / kSecond) + ".." +
                    std::to_string((loss.to - Seconds(0)) / kSecond));
    });
    return out;
  }
  uint64_t Within(double from, double to) const {
    return periods_.Attempts(Seconds(from), Seconds(to)).count;
  }

  static constexpr Nanos kSecond = std::chrono::seconds(1);
  LossPeriods periods_;
};

TEST_F(LossPeriodsTest, APeriodCountsWhollyWhereverItTouches) {
  Add(Lost(10, 12, 5, kP));
  Add(Lost(12, 12, 2));
  EXPECT_EQ(Within(0, 9.9), 0u);
  EXPECT_EQ(Within(0, 10), 5u);
  EXPECT_EQ(Within(11, 11.5), 5u);
  EXPECT_EQ(Within(12, 20), 7u);
  EXPECT_EQ(Within(12.1, 20), 0u);
}

TEST_F(LossPeriodsTest, AStormIsOnePeriodOfAMinuteAtMost) {
  for (int i = 0; i < 1200; ++i) Add(Lost(10 + i * 0.1, 10.1 + i * 0.1, 1, kP));
  EXPECT_THAT(Periods(), ElementsAre("p 600 10..70", "p 600 70..130"));
  Add(Lost(131, 132, 1, kP));
  EXPECT_THAT(Periods(), ElementsAre("p 600 10..70", "p 600 70..130", "p 1 131..132"));
}

TEST_F(LossPeriodsTest, PausesKindsAndProxiesSeparate) {
  Add(Lost(10, 11, 1, kP));
  Add(Lost(12.5, 13, 1, kP));
  Add(Lost(10, 11, 1, kQ));
  Loss accept = Lost(10, 11, 9);
  accept.what = "accept";
  Add(accept);
  EXPECT_EQ(Periods().size(), 4u);
  EXPECT_EQ(Within(0, 100), 3u) << "accepts are no attempts";
}

TEST_F(LossPeriodsTest, AProxysOwnAreToldApart) {
  Add(Lost(10, 11, 5, kP));
  Add(Lost(10, 11, 7, kQ));
  Add(Lost(10, 11, 9));
  EXPECT_EQ(periods_.AttemptsOf(kP, Seconds(0), Seconds(100)).count, 5u);
  EXPECT_FALSE(periods_.AttemptsOf(kP, Seconds(0), Seconds(100)).unknown);
  Add(Lost(20, 21, 0));
  EXPECT_TRUE(periods_.AttemptsOf(kP, Seconds(0), Seconds(100)).unknown);
  EXPECT_FALSE(periods_.AttemptsOf(kP, Seconds(30), Seconds(100)).unknown);
  EXPECT_FALSE(periods_.AttemptsOf(ProxyId("other"), Seconds(0), Seconds(19)).any());
}

TEST_F(LossPeriodsTest, CompactionKeepsTheSumsOfWhoIsKnown) {
  Add(Lost(10, 11, 5, kP));
  Add(Lost(20, 21, 7, kP));
  Add(Lost(30, 31, 1, kP));
  Add(Lost(10, 11, 3, kQ));
  Add(Lost(10, 11, 2));
  periods_.Compact(Seconds(25), [](const ProxyId& proxy) { return proxy == kP; });
  EXPECT_THAT(Periods(), ElementsAre(" 2 10..11", "p 12 10..21", "p 1 30..31"));
  EXPECT_EQ(periods_.AttemptsOf(kP, Seconds(0), Seconds(100)).count, 13u);
  EXPECT_EQ(Within(25, 100), 1u) << "inside the horizon nothing has changed";
  periods_.Compact(Seconds(25), [](const ProxyId&) { return false; });
  EXPECT_EQ(Periods().size(), 3u) << "its last loss is still to be told";
}

TEST_F(LossPeriodsTest, TheLatestAreTheLatestOfAllKinds) {
  Add(Lost(10, 11, 1, kP));
  Add(Lost(20, 21, 2, kQ));
  Add(Lost(15, 16, 3));
  const std::vector<Loss> latest = periods_.Latest(2);
  ASSERT_EQ(latest.size(), 2u);
  EXPECT_EQ(latest[0].count, 3u);
  EXPECT_EQ(latest[1].count, 2u);
  EXPECT_EQ(periods_.Latest(10).size(), 3u);
}

}  // namespace
}  // namespace phantomd
