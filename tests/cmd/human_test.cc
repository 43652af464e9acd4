#include "agent/cmd/ctl/human.h"

#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include "tests/cmd/local_time.h"

namespace phantomd {
namespace {

using google::protobuf::Timestamp;
using google::protobuf::util::TimeUtil;
using testing::LocalTime;

Timestamp Rfc3339(const std::string& text) {
  Timestamp out;
  EXPECT_TRUE(TimeUtil::FromString(text, &out)) << text;
  return out;
}

TEST(HumanDurationTest, HasThreeDigitsOfTheUnitThatFits) {
  const struct {
    int64_t nanos;
    const char* text;
  } kCases[] = {
      {0, "0s"},
      {1, "1ns"},
      {350'000, "350µs"},
      {999'400, "999µs"},
      {999'600, "1ms"},
      {25'000'000, "25ms"},
      {1'500'000, "1.5ms"},
      {12'340'000, "12.3ms"},
      {999'600'000, "1s"},
      {1'004'000'000, "1s"},
      {3'020'000'000, "3.02s"},
      {10'000'000'000, "10s"},
      {59'940'000'000, "59.9s"},
      {59'960'000'000, "1m00s"},
      {123'400'000'000, "2m03s"},
      {3'599'400'000'000, "59m59s"},
      {3'599'600'000'000, "1h00m"},
      {7'380'000'000'000, "2h03m"},
      {-25'000'000, "-25ms"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(HumanDuration(TimeUtil::NanosecondsToDuration(c.nanos)), c.text) << c.nanos;
  }
}

TEST(HumanTimeTest, IsLocalWithMilliseconds) {
  const Timestamp time = Rfc3339("2026-11-29T23:30:03.001999Z");
  {
    const LocalTime utc("UTC");
    EXPECT_EQ(HumanTime(time), "2026-11-29T23:30:03.001");
    EXPECT_EQ(HumanTimeWithZone(time), "2026-11-29T23:30:03.001+00:00");
    EXPECT_EQ(HumanTimeOn("2026-11-29", time), "23:30:03.001");
  }
  {
    const LocalTime kathmandu("XXX-5:45");
    EXPECT_EQ(HumanTimeWithZone(time), "2026-11-30T05:15:03.001+05:45");
    EXPECT_EQ(HumanDate(time), "2026-11-30");
    EXPECT_EQ(HumanTimeOn("2026-11-29", time), "2026-11-30T05:15:03.001");
  }
  {
    const LocalTime newfoundland("XXX3:30");
    EXPECT_EQ(HumanTimeWithZone(time), "2026-11-29T20:00:03.001-03:30");
  }
}

TEST(ParseTimeTest, ReadsWhatPeopleWrite) {
  const LocalTime zone("XXX-1");  // an hour east of Greenwich
  const Timestamp now = Rfc3339("2026-11-29T12:00:00Z");
  const struct {
    const char* text;
    const char* time;
  } kCases[] = {
      {"2026-11-29T18:59:03Z", "2026-11-29T18:59:03Z"},
      {"2026-11-29T18:59:03.25Z", "2026-11-29T18:59:03.25Z"},
      {"2026-11-29T18:59:03.123456789+02:00", "2026-11-29T16:59:03.123456789Z"},
      {"2026-11-29T18:59:03-0330", "2026-11-29T22:29:03Z"},
      {"2026-11-29T18:59:03.001", "2026-11-29T17:59:03.001Z"},
      {"2026-11-29 18:59", "2026-11-29T17:59:00Z"},
      {"18:59:03.5", "2026-11-29T17:59:03.5Z"},
      {"00:10", "2026-11-28T23:10:00Z"},
  };
  for (const auto& c : kCases) {
    const auto parsed = ParseTime(c.text, now);
    ASSERT_TRUE(parsed.ok()) << c.text << ": " << parsed.status();
    EXPECT_EQ(TimeUtil::ToString(*parsed), TimeUtil::ToString(Rfc3339(c.time))) << c.text;
  }
}

TEST(ParseTimeTest, WhatPeopleSeeCanBeGivenBack) {
  const LocalTime zone("XXX-5:45");
  const Timestamp time = Rfc3339("2026-11-29T23:30:03.001Z");
  EXPECT_EQ(TimeUtil::ToString(*ParseTime(HumanTime(time), time)), TimeUtil::ToString(time));
  EXPECT_EQ(TimeUtil::ToString(*ParseTime(HumanTimeWithZone(time), time)),
            TimeUtil::ToString(time));
}

TEST(ParseTimeTest, RubbishIsNamed) {
  const LocalTime utc("UTC");
  const Timestamp now = Rfc3339("2026-11-29T12:00:00Z");
  for (const char* text : {"", "now", "yesterday", "2026-11-29", "18", "2026-11-29T18:59:03 UTC"}) {
    EXPECT_EQ(ParseTime(text, now).status().message(),
              "\"" + std::string(text) +
                  "\" is no time: 2026-11-29T18:59:03, with Z or +01:00 if not local, or 18:59:03 "
                  "of today");
  }
  for (const char* text : {"2026-02-30T18:59:03Z", "2026-13-01T00:00:00", "24:00:01", "12:61:00"}) {
    EXPECT_EQ(ParseTime(text, now).status().message(),
              "\"" + std::string(text) + "\": there is no such time");
  }
}

TEST(HumanCountsTest, LargestFirstWithoutZeros) {
  google::protobuf::RepeatedPtrField<phantom::v1::Count> counts;
  EXPECT_EQ(HumanCounts(counts), "none");
  for (const auto& [key, count] :
       std::initializer_list<std::pair<const char*, int>>{{"A", 2}, {"B", 0}, {"C", 7}, {"D", 2}}) {
    counts.Add()->set_key(key);
    counts.rbegin()->set_count(count);
  }
  EXPECT_EQ(HumanCounts(counts), "7 C, 2 A, 2 D");
}

}  // namespace
}  // namespace phantomd
