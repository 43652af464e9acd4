#include "agent/kube/pb_streams.h"

#include "agent/base/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kube/kube_data.h"
#include "tests/kube/pb_writer.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::KubeData;

// What the pieces of a stream were, the error as the last; "whole" if nothing is missing.
struct Taken {
  std::vector<std::string> pieces;
  std::string error;
  bool whole = false;
};

template <typename Splitter, typename TextOf>
Taken TakeAll(Splitter& splitter, std::string_view bytes, size_t step, TextOf text_of) {
  Taken out;
  for (size_t at = 0; at <= bytes.size() && out.error.empty(); at += step) {
    splitter.Add(bytes.substr(at, step));
    while (true) {
      const auto piece = splitter.Next();
      if (!piece.ok()) {
        out.error = FromAbsl(piece.status().message());
        EXPECT_EQ(splitter.Next().status(), piece.status());  // it stays
        break;
      }
      if (!piece->has_value()) break;
      out.pieces.push_back(text_of(**piece));
    }
  }
  out.whole = out.error.empty() && splitter.whole();
  return out;
}

Taken Frames(std::string_view bytes, size_t step = 1 << 20) {
  PbFrameSplitter splitter;
  return TakeAll(splitter, bytes, step, [](std::string_view frame) { return std::string(frame); });
}

Taken List(std::string_view bytes, size_t step = 1 << 20) {
  PbListSplitter splitter;
  return TakeAll(splitter, bytes, step, [](const PbListSplitter::Piece& piece) {
    const bool is_item = piece.type == PbListSplitter::Piece::Type::kItem;
    return (is_item ? "item " : "metadata ") + std::string(piece.message);
  });
}

TEST(PbFrameSplitterTest, RecordedWatchInPiecesOfAnySize) {
  const std::string watch = KubeData("pods.watch.pb");
  const Taken whole = Frames(watch);
  EXPECT_EQ(whole.pieces.size(), 16u);  // 14 changes, a bookmark, an error
  EXPECT_TRUE(whole.whole);
  for (const size_t step : {1, 2, 3, 7, 100, 4096}) {
    const Taken in_steps = Frames(watch, step);
    EXPECT_EQ(in_steps.pieces, whole.pieces) << step;
    EXPECT_TRUE(in_steps.whole);
  }
}

TEST(PbFrameSplitterTest, CutAtEveryByteGivesTheFramesBefore) {
  const std::string watch = KubeData("endpointslices.watch.pb");
  const Taken all = Frames(watch);
  size_t complete = 0;
  size_t end = 0;
  for (size_t cut = 0; cut <= watch.size(); ++cut) {
    if (complete < all.pieces.size() && cut == end + 4 + all.pieces[complete].size()) {
      end = cut;
      ++complete;
    }
    const Taken taken = Frames(std::string_view(watch).substr(0, cut));
    EXPECT_EQ(taken.error, "");
    EXPECT_EQ(taken.whole, cut == end) << cut;
    ASSERT_EQ(taken.pieces.size(), complete) << cut;
    EXPECT_TRUE(std::equal(taken.pieces.begin(), taken.pieces.end(), all.pieces.begin()));
  }
  EXPECT_EQ(complete, all.pieces.size());
}

TEST(PbFrameSplitterTest, FrameOverTheLimitIsAnErrorByName) {
  const std::string good = testing::PbFrameOf("event");
  const Taken taken = Frames(good + std::string("\x01\x00\x00\x01", 4) + good);
  EXPECT_THAT(taken.pieces, ElementsAre("event"));
  EXPECT_EQ(taken.error, "a frame of 16777217 bytes, more than 16777216");
  EXPECT_EQ(Frames(std::string("\x01\x00\x00\x00", 4)).error, "");  // the limit itself
  EXPECT_THAT(Frames(std::string(4, '\0')).pieces, ElementsAre(""));
}

TEST(PbListSplitterTest, RecordedListInPiecesOfAnySize) {
  const std::string list = KubeData("pods.list.pb");
  const Taken whole = List(list);
  ASSERT_EQ(whole.pieces.size(), 15u);
  EXPECT_THAT(whole.pieces[0], HasSubstr("4800"));
  EXPECT_TRUE(whole.whole);
  for (const size_t step : {1, 2, 3, 7, 100, 4096}) {
    const Taken in_steps = List(list, step);
    EXPECT_EQ(in_steps.pieces, whole.pieces) << step;
    EXPECT_TRUE(in_steps.whole) << step;
  }
  PbListSplitter splitter;
  splitter.Add(list.substr(0, 30));
  EXPECT_TRUE(splitter.Next().ok());
  EXPECT_EQ(splitter.kind(), "PodList");
}

TEST(PbListSplitterTest, CutAtEveryByteIsNeverWhole) {
  for (const char* file : {"endpointslices.list.pb", "nodes.list.pb"}) {
    const std::string list = KubeData(file);
    const Taken all = List(list);
    ASSERT_TRUE(all.whole);
    for (size_t cut = 0; cut < list.size(); ++cut) {
      const Taken taken = List(std::string_view(list).substr(0, cut));
      EXPECT_EQ(taken.error, "") << cut;
      ASSERT_LE(taken.pieces.size(), all.pieces.size());
      EXPECT_TRUE(std::equal(taken.pieces.begin(), taken.pieces.end(), all.pieces.begin()));
      // The two last fields of the envelope are empty: without them nothing is missing.
      EXPECT_EQ(taken.whole, cut == list.size() - 4 || cut == list.size() - 2) << file << cut;
    }
  }
}

TEST(PbListSplitterTest, EmptyList) {
  const Taken taken = List(testing::PbListOf("PodList", "7", "", {}), 1);
  EXPECT_EQ(taken.pieces.size(), 1u);
  EXPECT_TRUE(taken.whole);
  EXPECT_TRUE(List(testing::PbEnvelopeOf("PodList", "")).whole);
}

TEST(PbListSplitterTest, WhatIsNoListIsNamed) {
  std::string huge;
  testing::PutVarint(2 << 3 | 2, huge);
  testing::PutVarint(kMaxPbMessage + 1, huge);
  std::string number, beyond, encoded;
  testing::PutNumber(2, 7, number);
  testing::PutVarint(2 << 3 | 2, beyond);
  testing::PutVarint(100, beyond);
  testing::PutBytes(3, "gzip", encoded);
  std::string kindless("k8s\0", 4);
  testing::PutBytes(2, "", kindless);
  const std::string begin = testing::PbEnvelopeOf("PodList", "");
  const std::pair<std::string, const char*> cases[] = {
      {"{\"kind\":", "not a list in protobuf: it does not begin with \"k8s\""},
      {"k8x", "not a list in protobuf: it does not begin with \"k8s\""},
      {kindless, "not a list in protobuf: its kind does not stand before it"},
      {testing::PbEnvelopeOf("PodList", huge + std::string(kMaxPbMessage + 1, 'x')),
       "an item of 16777217 bytes, more than 16777216"},
      {testing::PbEnvelopeOf("PodList", number), "not a list in protobuf: a field of another type"},
      {testing::PbEnvelopeOf("PodList", beyond),
       "not a list in protobuf: an item goes beyond its end"},
      {testing::PbEnvelopeOf("PodList", "\x12"), "not a list in protobuf: cut short"},
      {testing::PbEnvelopeOf("PodList", "\x13"), "not a list in protobuf: a group"},
      {begin + "\x0e", "not a list in protobuf: a wire type that does not exist"},
      {begin + encoded, "not a list in protobuf: its encoding is not known"},
  };
  for (const auto& [bytes, sentence] : cases) {
    for (const size_t step : {bytes.size(), bytes.size() / 3 + 1}) {
      const Taken taken = List(bytes, step);
      EXPECT_EQ(taken.error, sentence) << step;
      EXPECT_FALSE(taken.whole);
    }
  }
}

TEST(PbListSplitterTest, FieldsThatAreNotKnownAreSkipped) {
  std::string list;
  testing::PutNumber(4, 17, list);
  testing::PutBytes(9, "later", list);
  testing::PutBytes(2, "pod", list);
  EXPECT_THAT(List(testing::PbEnvelopeOf("PodList", list), 1).pieces, ElementsAre("item pod"));
}

}  // namespace
}  // namespace phantomd
