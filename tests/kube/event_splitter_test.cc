#include "agent/kube/event_splitter.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kube/kube_data.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;

// "line: text" of an object, "line! trouble" of what is none.
std::vector<std::string> Split(const std::string& stream, size_t chunk = 1'000'000) {
  EventSplitter splitter;
  std::vector<std::string> out;
  for (size_t at = 0; at < stream.size(); at += chunk) {
    splitter.Add(std::string_view(stream).substr(at, chunk));
    while (const auto piece = splitter.Next()) {
      out.push_back(piece->trouble.empty() ? fmt::format("{}: {}", piece->line, piece->text)
                                           : fmt::format("{}! {}", piece->line, piece->trouble));
    }
  }
  if (splitter.incomplete_line() != 0) {
    out.push_back(fmt::format("{}...", splitter.incomplete_line()));
  }
  return out;
}

TEST(EventSplitterTest, ObjectsInEveryLayout) {
  EXPECT_THAT(Split(""), ElementsAre());
  EXPECT_THAT(Split(" \n\t\r\n"), ElementsAre());
  EXPECT_THAT(Split("{}\n{}\n"), ElementsAre("1: {}", "2: {}"));
  EXPECT_THAT(Split("{}{} {}"), ElementsAre("1: {}", "1: {}", "1: {}"));
  EXPECT_THAT(Split("\n\n{\n  \"a\": {}\n}\n{}"), ElementsAre("3: {\n  \"a\": {}\n}", "6: {}"));
}

TEST(EventSplitterTest, BracesAndQuotesInStringsDoNotCount) {
  const std::string tricky = R"({"a":"}{","b":"\"}","c":"\\","d":{"e":"\\\"{"}})";
  EXPECT_THAT(Split(tricky + "\n{}"), ElementsAre("1: " + tricky, "2: {}"));
}

TEST(EventSplitterTest, BrokenObjectIsReportedOnceAndTheNextOneIsUnharmed) {
  EXPECT_THAT(Split("{\"a\":{\n{}\n"),
              ElementsAre("1! the object has no end before line 2", "2: {}"));
  EXPECT_THAT(Split("{}\n{\n  \"a\": \"b\n  \"c\": {}\n}\n{}\n"),
              ElementsAre("1: {}", "2! a string has no end on line 3", "6: {}"));
  EXPECT_THAT(Split("{}}\n}\n{}\n"),
              ElementsAre("1: {}", "1! not the beginning of an object", "3: {}"));
  EXPECT_THAT(Split("rubbish {}\n more\n{}\n"),
              ElementsAre("1! not the beginning of an object", "3: {}"));
  EXPECT_THAT(Split("{}\nError from server: {}\n  {}\n{}\n"),
              ElementsAre("1: {}", "2! not the beginning of an object", "4: {}"));
}

TEST(EventSplitterTest, ObjectThatReachesTheLimitHidesNothingOfTheNextLine) {
  const std::string open = "{\"a\":1,";
  const std::string filler(EventSplitter::kMaxObjectBytes - open.size() - 1, ' ');
  EXPECT_THAT(Split(open + filler + "\n{}\n"),
              ElementsAre("1! the object is longer than 16777216 bytes", "2: {}"));
}

TEST(EventSplitterTest, HalfAnObjectWaits) {
  EXPECT_THAT(Split("{}\n{\"a\""), ElementsAre("1: {}", "2..."));
  EventSplitter splitter;
  splitter.Add("{\"a\":");
  EXPECT_FALSE(splitter.Next().has_value());
  EXPECT_EQ(splitter.incomplete_line(), 1);
  splitter.Add("1}");
  EXPECT_EQ(splitter.Next()->text, "{\"a\":1}");
  EXPECT_EQ(splitter.incomplete_line(), 0);
}

TEST(EventSplitterTest, CutIntoChunksOfAnySizeGivesTheSame) {
  const std::string stream = testing::KubeData("nodes.json") + "rubbish\n{\"a\":{\n" +
                             testing::KubeData("endpointslices.json") + "{\"x\": \"\n" +
                             testing::KubeData("nodes.json");
  const std::vector<std::string> whole = Split(stream);
  ASSERT_EQ(whole.size(), 2u + 1 + 1 + 5 + 1 + 2);
  for (size_t chunk = 1; chunk < 300; ++chunk) ASSERT_EQ(Split(stream, chunk), whole) << chunk;
  for (size_t cut = 0; cut < stream.size(); ++cut) {
    EventSplitter splitter;
    size_t pieces = 0;
    for (const auto& part : {stream.substr(0, cut), stream.substr(cut)}) {
      splitter.Add(part);
      while (splitter.Next()) ++pieces;
    }
    ASSERT_EQ(pieces, whole.size()) << cut;
  }
}

TEST(EventSplitterTest, ObjectWithoutMeasureIsRubbish) {
  const std::string big =
      "{\"a\":\"" + std::string(EventSplitter::kMaxObjectBytes, 'x') + "\"}\n{}\n";
  EXPECT_THAT(Split(big, 65536),
              ElementsAre("1! the object is longer than 16777216 bytes", "2: {}"));
}

}  // namespace
}  // namespace phantomd
