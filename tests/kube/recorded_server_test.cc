// What a real API server sent (tests/data/kube/server), cut at every offset.
#include <utility>

#include "agent/base/strings.h"
#include "agent/kube/answer_reader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kube/kube_data.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;

constexpr char kProtobuf[] = "application/vnd.kubernetes.protobuf";
constexpr char kWatchOfProtobuf[] = "application/vnd.kubernetes.protobuf;stream=watch";

struct RecordedKind {
  Feed feed;
  std::string name;
};
const RecordedKind kRecordedKinds[] = {
    {Feed::kPods, "pods"}, {Feed::kSlices, "endpointslices"}, {Feed::kNodes, "nodes"}};

std::string Recorded(const std::string& name) { return testing::KubeData("server/" + name); }

// What a reader made of the bytes: its events, and why it went no further.
struct ReadAnswer {
  std::vector<WatchEvent> events;
  std::string error;
  bool whole = false;
};

void TakeEvents(AnswerReader& reader, ReadAnswer& out) {
  while (out.error.empty()) {
    absl::StatusOr<std::optional<WatchEvent>> event = reader.Next();
    if (!event.ok()) out.error = FromAbsl(event.status().message());
    if (!event.ok() || !event->has_value()) return;
    out.events.push_back(**std::move(event));
  }
}

ReadAnswer Read(absl::StatusOr<std::unique_ptr<AnswerReader>> made, std::string_view bytes) {
  ReadAnswer out;
  AnswerReader& reader = **made;
  reader.Add(bytes);
  TakeEvents(reader, out);
  if (!out.error.empty()) return out;
  const absl::StatusOr<ListEnd> end = reader.Finish();
  out.whole = end.ok();
  if (end.ok()) TakeEvents(reader, out);
  return out;
}

// Whether the first events are these; a cut one must not become another.
void ExpectBeginningOf(const std::vector<WatchEvent>& whole, const ReadAnswer& cut) {
  EXPECT_EQ(cut.error, "");
  ASSERT_LE(cut.events.size(), whole.size());
  if (cut.events.empty()) return;
  // Those before it were compared when they were the last.
  const size_t last = cut.events.size() - 1;
  EXPECT_EQ(cut.events[last].change, whole[last].change);
  EXPECT_EQ(cut.events[last].type, whole[last].type);
}

TEST(RecordedServerTest, ListsInProtobufTellWhatTheSameListsInJsonTell) {
  for (const RecordedKind& kind : kRecordedKinds) {
    const ReadAnswer pb =
        Read(ReaderOfList(kind.feed, kProtobuf), Recorded(kind.name + ".list.pb"));
    const ReadAnswer json =
        Read(ReaderOfList(kind.feed, "application/json"), Recorded(kind.name + ".list.json"));
    EXPECT_TRUE(pb.whole && json.whole) << kind.name;
    EXPECT_FALSE(pb.events.empty()) << kind.name;
    ASSERT_EQ(pb.events.size(), json.events.size()) << kind.name;
    for (size_t i = 0; i < pb.events.size(); ++i) {
      EXPECT_EQ(pb.events[i].trouble, "");
      EXPECT_EQ(pb.events[i].change, json.events[i].change) << kind.name << i;
      EXPECT_EQ(pb.events[i].resource_version, json.events[i].resource_version);
    }
  }
}

TEST(RecordedServerTest, WatchTellsTheEndOfItsFirstEventsAndThenOfARoll) {
  for (const RecordedKind& kind : kRecordedKinds) {
    const ReadAnswer watch =
        Read(ReaderOfWatch(kind.feed, kWatchOfProtobuf), Recorded(kind.name + ".watch.pb"));
    EXPECT_EQ(watch.error, "");
    size_t ends = 0, deleted = 0;
    for (const WatchEvent& event : watch.events) {
      EXPECT_EQ(event.trouble, "");
      ends += event.initial_events_end;
      deleted += event.type == WatchEvent::Type::kDeleted;
    }
    EXPECT_EQ(ends, 1u) << kind.name;
    EXPECT_EQ(deleted, kind.feed == Feed::kPods ? 2u : 0u) << kind.name;
  }
}

// Frames have nothing to do with one another: each is cut behind the one before it.
TEST(RecordedServerTest, WatchCutAtEveryOffsetTellsTheEventsBefore) {
  for (const RecordedKind& kind : kRecordedKinds) {
    const std::string bytes = Recorded(kind.name + ".watch.pb");
    const ReadAnswer whole = Read(ReaderOfWatch(kind.feed, kWatchOfProtobuf), bytes);
    size_t frame = 0, before = 0, begin = 0;
    while (begin < bytes.size()) {
      size_t end = begin + 4;
      for (size_t i = 0; i < 4; ++i) {
        end += static_cast<size_t>(static_cast<uint8_t>(bytes[begin + i])) << (8 * (3 - i));
      }
      ASSERT_LE(end, bytes.size());
      for (size_t cut = begin; cut < end; ++cut) {
        const ReadAnswer part = Read(ReaderOfWatch(kind.feed, kWatchOfProtobuf),
                                     std::string_view(bytes).substr(before, cut - before));
        EXPECT_EQ(part.error, "");
        ASSERT_EQ(part.events.size(), frame == 0 ? 0u : 1u) << kind.name << cut;
        for (const WatchEvent& event : part.events) {
          EXPECT_EQ(event.change, whole.events[frame - 1].change);
        }
      }
      before = std::exchange(begin, end);
      ++frame;
    }
    EXPECT_EQ(frame, whole.events.size());
  }
}

TEST(RecordedServerTest, ListCutAtEveryOffsetIsNeverTakenForAWholeOne) {
  for (const RecordedKind& kind : kRecordedKinds) {
    const std::string bytes = Recorded(kind.name + ".list.pb");
    const ReadAnswer whole = Read(ReaderOfList(kind.feed, kProtobuf), bytes);
    for (size_t cut = 0; cut < bytes.size(); ++cut) {
      const ReadAnswer part =
          Read(ReaderOfList(kind.feed, kProtobuf), std::string_view(bytes).substr(0, cut));
      ExpectBeginningOf(whole.events, part);
      // The two last fields of the envelope are empty: without them nothing is missing.
      EXPECT_EQ(part.whole, cut == bytes.size() - 4 || cut == bytes.size() - 2) << kind.name << cut;
    }
  }
}

TEST(RecordedServerTest, WatchOfAForgottenVersionEndsWithTheReason) {
  const ReadAnswer watch =
      Read(ReaderOfWatch(Feed::kPods, kWatchOfProtobuf), Recorded("pods.expired.watch.pb"));
  ASSERT_EQ(watch.events.size(), 1u);
  EXPECT_EQ(watch.events[0].type, WatchEvent::Type::kError);
  EXPECT_EQ(watch.events[0].error.code, 410);
  EXPECT_EQ(watch.events[0].error.reason, "Expired");
  EXPECT_THAT(watch.events[0].error.message, HasSubstr("too old resource version: 1 ("));
}

}  // namespace
}  // namespace phantomd
