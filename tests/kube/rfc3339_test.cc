#include "agent/kube/rfc3339.h"

#include <string>

#include "gtest/gtest.h"

namespace phantomd {
namespace {

TEST(Rfc3339Test, EveryFormTheApiWrites) {
  const struct {
    const char* text;
    int64_t nanos;
  } cases[] = {
      {"1970-01-01T00:00:00Z", 0},
      {"1970-01-01T00:00:01Z", 1'000'000'000},
      {"1969-12-31T23:59:59Z", -1'000'000'000},
      {"2026-11-29T18:59:03Z", 1'795'978'743'000'000'000},
      {"2026-11-29t18:59:03z", 1'795'978'743'000'000'000},
      {"2026-11-29T18:59:03.5Z", 1'795'978'743'500'000'000},
      {"2026-11-29T18:59:03.000001Z", 1'795'978'743'000'001'000},
      {"2026-11-29T18:59:03.123456789Z", 1'795'978'743'123'456'789},
      {"2026-11-29T18:59:03.1234567899Z", 1'795'978'743'123'456'789},
      {"2026-11-29T19:59:03+01:00", 1'795'978'743'000'000'000},
      {"2026-11-29T13:29:03-05:30", 1'795'978'743'000'000'000},
      {"2026-11-29T18:59:03-00:00", 1'795'978'743'000'000'000},
      {"2028-02-29T00:00:00Z", 1'835'395'200'000'000'000},
      {"2016-12-31T23:59:60Z", 1'483'228'800'000'000'000},
  };
  for (const auto& c : cases) {
    const auto time = ParseRfc3339(c.text);
    ASSERT_TRUE(time.ok()) << time.status().ToString();
    EXPECT_EQ(time->nanos(), c.nanos) << c.text;
  }
}

TEST(Rfc3339Test, WhatIsNoTimeIsAnErrorThatQuotesIt) {
  for (const char* text :
       {"", "yesterday", "2026-11-29", "2026-11-29T18:59:03", "2026-11-29 18:59:03Z",
        "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-00-10T00:00:00Z",
        "2026-11-29T24:00:00Z", "2026-11-29T18:60:03Z", "2026-11-29T18:59:61Z",
        "2026-11-29T18:59:03.Z", "2026-11-29T18:59:03Z ", "2026-11-29T18:59:03+0100",
        "2026-11-29T18:59:03+24:00", "2026-11-29T18:59:03+01:60", "+026-11-29T18:59:03Z",
        "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"}) {
    const auto time = ParseRfc3339(text);
    ASSERT_FALSE(time.ok()) << text;
    EXPECT_EQ(time.status().message(), "not a time in RFC 3339: \"" + std::string(text) + "\"");
  }
}

TEST(Rfc3339Test, CutAtEveryByteIsNoTime) {
  const std::string whole = "2026-11-29T18:59:03.25+01:00";
  ASSERT_TRUE(ParseRfc3339(whole).ok());
  for (size_t cut = 0; cut < whole.size(); ++cut) {
    EXPECT_FALSE(ParseRfc3339(whole.substr(0, cut)).ok()) << cut;
  }
}

TEST(WallTimeOfSecondsTest, IsTheSameTimeInTheSameYears) {
  EXPECT_EQ(*WallTimeOfSeconds(1795978743), *ParseRfc3339("2026-11-29T18:59:03Z"));
  EXPECT_FALSE(WallTimeOfSeconds(0)->is_set());
  EXPECT_EQ(*WallTimeOfSeconds(-9214560000), *ParseRfc3339("1678-01-01T00:00:00Z"));
  EXPECT_EQ(*WallTimeOfSeconds(9214646399), *ParseRfc3339("2261-12-31T23:59:59Z"));
  EXPECT_FALSE(WallTimeOfSeconds(-9214560001).ok());
  EXPECT_FALSE(WallTimeOfSeconds(9214646400).ok());
}

}  // namespace
}  // namespace phantomd
