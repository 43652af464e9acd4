#include "agent/serve/filter.h"

#include <gtest/gtest.h>

#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

bool Matches(const std::string& filter, const Connection& connection) {
  const Report report = testing::SampleReport();
  const auto parsed = ConnectionFilter::Parse(filter);
  EXPECT_TRUE(parsed.ok()) << parsed.status();
  return parsed->Matches(connection, ReportEncoder(report));
}

TEST(ConnectionFilterTest, EachKeyComparesItsOwnField) {
  const Connection connection = testing::SampleConnection(1);
  const struct {
    const char* filter;
    bool matches;
  } kCases[] = {
      {"", true},
      {"  ", true},
      {"class=DEAD", true},
      {"class=REUSED", false},
      {"class=dead", true},
      {"proxy=shop/webapp-1", true},
      {"proxy=webapp-1/c0ffee", true},
      {"proxy=shop/webapp-2", false},
      {"rollout=shop/Deployment/catalog/7d9f8c/20261129T185902Z", true},
      {"rollout=shop/Deployment/catalog/5b6d/20261129T185902Z", false},
      {"cause=STALE_EDS", true},
      {"cause=BYPASS", false},
      {"layer=L4", true},
      {"layer=L7", false},
      {"outcome=ABANDONED", true},
      {"outcome=REFUSED", false},
      {"initiator=PROXY", true},
      {"initiator=APPLICATION", false},
      {"certainty=INFERRED", true},
      {"certainty=CERTAIN", false},
      {"class=DEAD layer=L4 cause=STALE_EDS", true},
      {"class=DEAD layer=L7", false},
      {"class=REUSED class=DEAD", true},
      {"class=REUSED class=WITHDRAWN", false},
  };
  for (const auto& c : kCases) EXPECT_EQ(Matches(c.filter, connection), c.matches) << c.filter;
}

TEST(ConnectionFilterTest, WhatItDoesNotKnowIsNamed) {
  const struct {
    const char* filter;
    const char* sentence;
  } kCases[] = {
      {"colour=red",
       "filter: unknown key \"colour\"; there are cause, certainty, class, initiator, layer, "
       "outcome, proxy, rollout"},
      {"class=DEAD layer=L8", "filter: \"L8\" is no layer; there are L4, L7, MIXED"},
      {"certainty=CERTAINTY_UNSPECIFIED",
       "filter: \"CERTAINTY_UNSPECIFIED\" is no certainty; there are CERTAIN, INFERRED"},
      {"class", "filter: \"class\" is not of the form key=value"},
      {"class=", "filter: \"class=\" is not of the form key=value"},
      {"=DEAD",
       "filter: unknown key \"\"; there are cause, certainty, class, initiator, layer, outcome, "
       "proxy, rollout"},
  };
  for (const auto& c : kCases) {
    const auto parsed = ConnectionFilter::Parse(c.filter);
    ASSERT_FALSE(parsed.ok()) << c.filter;
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(parsed.status().message(), c.sentence);
  }
}

TEST(RolloutFilterTest, EachKeyComparesItsOwnField) {
  const RolloutReport rollout = testing::SampleReport().rollouts[0];
  const struct {
    const char* filter;
    bool matches;
  } kCases[] = {
      {"", true},
      {"namespace=shop workload=catalog", true},
      {"namespace=shop workload=payments", false},
      {"namespace=bank", false},
      {"kind=Deployment departure=ROLLOUT", true},
      {"kind=StatefulSet", false},
      {"departure=EVICTION", false},
  };
  for (const auto& c : kCases) {
    const auto parsed = RolloutFilter::Parse(c.filter);
    ASSERT_TRUE(parsed.ok()) << c.filter;
    EXPECT_EQ(parsed->Matches(rollout), c.matches) << c.filter;
  }
  EXPECT_EQ(RolloutFilter::Parse("class=DEAD").status().message(),
            "filter: unknown key \"class\"; there are departure, kind, namespace, workload");
}

}  // namespace
}  // namespace phantomd
