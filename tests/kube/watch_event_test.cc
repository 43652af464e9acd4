#include "agent/kube/watch_event.h"

#include "agent/kube/pb_streams.h"
#include "gtest/gtest.h"
#include "tests/kube/kube_data.h"
#include "tests/kube/pb_writer.h"

namespace phantomd {
namespace {

TEST(WatchEventTest, TypesOfEvents) {
  const std::pair<const char*, WatchEvent::Type> cases[] = {
      {"ADDED", WatchEvent::Type::kChanged},
      {"MODIFIED", WatchEvent::Type::kChanged},
      {"DELETED", WatchEvent::Type::kDeleted},
      {"BOOKMARK", WatchEvent::Type::kBookmark},
  };
  WatchEventParser parser;
  for (const auto& [name, type] : cases) {
    const auto event = parser.Parse(testing::NodeLine(name, "n"));
    ASSERT_TRUE(event.ok()) << event.status().ToString();
    EXPECT_EQ(event->type, type) << name;
    EXPECT_EQ(event->feed, Feed::kNodes);
  }
}

TEST(WatchEventTest, ErrorSaysWhatTheServerSaid) {
  WatchEventParser parser;
  const auto event = parser.Parse(
      R"json({"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired",)json"
      R"json("message":"too old resource version: 5 (9)"}})json");
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->type, WatchEvent::Type::kError);
  EXPECT_EQ(ToString(event->error), "Expired: too old resource version: 5 (9)");
  EXPECT_EQ(event->error.code, 410);
}

TEST(WatchEventTest, WhatIsNoEventIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"{]}", "not JSON: "},
      {"{\"type\":\"ADDED\",\"object\":{\"kind\":\"\xff\"}}", "not JSON: "},
      {"{}", "neither a watch event nor a Kubernetes object"},
      {R"({"type":7})", "neither a watch event nor a Kubernetes object"},
      {R"({"kind":"PodList"})",
       "a PodList without an event around it: kubectl needs --output-watch-events"},
      {R"({"type":"SEEN","object":{}})", "an event of unknown type \"SEEN\""},
      {R"({"type":"ADDED"})", "the ADDED event has no object"},
      {R"({"type":"ADDED","object":[]})", "the ADDED event has no object"},
      {R"({"type":"ADDED","object":{"kind":"Service"}})",
       "an object of kind \"Service\", which is no Pod, EndpointSlice or Node"},
      {R"({"type":"ADDED","object":{"kind":"Node"}})", "node : metadata.name: missing"},
  };
  WatchEventParser parser;
  for (const auto& [text, sentence] : cases) {
    const auto event = parser.Parse(text);
    ASSERT_FALSE(event.ok()) << text;
    EXPECT_EQ(std::string(event.status().message()).substr(0, std::string(sentence).size()),
              sentence);
  }
}

TEST(WatchEventTest, CutAtEveryByteIsAnError) {
  WatchEventParser parser;
  for (const char* file : {"pods.json", "endpointslices.json", "nodes.json"}) {
    const std::string whole = testing::EventTexts(testing::KubeData(file))[0];
    ASSERT_TRUE(parser.Parse(whole).ok());
    for (size_t cut = 0; cut < whole.size(); ++cut) {
      ASSERT_FALSE(parser.Parse(std::string_view(whole).substr(0, cut)).ok()) << file << cut;
    }
  }
}

TEST(WatchEventTest, EveryByteSpoiledNeverCrashes) {
  WatchEventParser parser;
  const std::string whole = testing::EventTexts(testing::KubeData("pods.json"))[0];
  size_t refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char byte : {'"', '{', '}', '\\', '\0', '\x80', '9'}) {
      std::string spoiled = whole;
      spoiled[at] = byte;
      refused += parser.Parse(spoiled).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, whole.size());  // most of them are no events any more
}

TEST(WatchEventTest, ErrorThatCannotBeReadIsAnErrorAllTheSame) {
  WatchEventParser parser;
  const auto event = parser.Parse(R"({"type":"ERROR","object":{"code":"410"}})");
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(event->type, WatchEvent::Type::kError);
  EXPECT_EQ(event->error.message, "code: not an integer");
}

TEST(WatchEventTest, ObjectThatIsNotUnderstoodIsNamedIfItTellsItsName) {
  WatchEventParser parser;
  const auto event = parser.Parse(
      R"({"type":"MODIFIED","object":{"kind":"Pod","metadata":{"name":"a","namespace":"n","uid":"u",)"
      R"("resourceVersion":"9"},"status":{"podIP":"x"}}})");
  ASSERT_TRUE(event.ok()) << event.status();
  EXPECT_EQ(event->type, WatchEvent::Type::kChanged);
  EXPECT_EQ(event->trouble, "pod n/a: status.podIP: not an IP address: \"x\"");
  EXPECT_EQ(KeyOf(event->change), "u");
  EXPECT_EQ(event->resource_version, "9");
}

TEST(WatchEventTest, BookmarkTellsHowFarTheWatchHasCome) {
  WatchEventParser parser;
  const std::string metadata = R"({"resourceVersion":"12746","annotations":{)";
  for (const auto& [annotation, end] :
       {std::pair(R"("k8s.io/initial-events-end":"true")", true), {R"("x":"true")", false}}) {
    const std::string object = R"({"metadata":)" + metadata + annotation + "}}}";
    const auto json =
        parser.Parse(R"({"type":"BOOKMARK","object":{"kind":"Pod",)" + object.substr(1) + "}");
    const auto frame = ParseWatchFrame(testing::PbEventOf(
        "BOOKMARK", testing::PbEnvelopeOf("Pod", *testing::PbFromJson("Pod", object))));
    for (const auto& event : {json, frame}) {
      ASSERT_TRUE(event.ok()) << event.status();
      EXPECT_EQ(event->type, WatchEvent::Type::kBookmark);
      EXPECT_EQ(event->resource_version, "12746");
      EXPECT_EQ(event->initial_events_end, end);
    }
  }
}

std::vector<std::string> RecordedFrames(const std::string& file) {
  PbFrameSplitter splitter;
  splitter.Add(testing::KubeData(file));
  std::vector<std::string> out;
  while (const auto frame = splitter.Next().value()) out.emplace_back(*frame);
  return out;
}

TEST(WatchFrameTest, RecordedFramesTellWhatTheJsonTells) {
  for (const std::string kind : {"pods", "endpointslices", "nodes"}) {
    WatchEventParser parser;
    const std::vector<std::string> frames = RecordedFrames(kind + ".watch.pb");
    const std::vector<std::string> texts = testing::EventTexts(testing::KubeData(kind + ".json"));
    ASSERT_GE(frames.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto json = parser.Parse(texts[i]);
      const auto event = ParseWatchFrame(frames[i]);
      ASSERT_TRUE(event.ok()) << event.status();
      EXPECT_EQ(event->type, json->type);
      EXPECT_EQ(event->feed, json->feed);
      EXPECT_EQ(event->change, json->change) << kind << i;
      EXPECT_EQ(event->resource_version, json->resource_version);
      EXPECT_EQ(event->trouble, "");
    }
  }
}

TEST(WatchFrameTest, RecordedBookmarkAndError) {
  const std::vector<std::string> frames = RecordedFrames("pods.watch.pb");
  const auto bookmark = ParseWatchFrame(frames[frames.size() - 2]);
  EXPECT_EQ(bookmark->type, WatchEvent::Type::kBookmark);
  EXPECT_EQ(bookmark->feed, Feed::kPods);
  EXPECT_EQ(bookmark->resource_version, "4900");
  EXPECT_TRUE(bookmark->initial_events_end);
  const auto error = ParseWatchFrame(frames.back());
  EXPECT_EQ(error->type, WatchEvent::Type::kError);
  EXPECT_EQ(error->error, (ApiStatus{.code = 410,
                                     .reason = "Expired",
                                     .message = "too old resource version: 5 (9)",
                                     .retry_after = std::chrono::seconds(3)}));
}

TEST(WatchFrameTest, WhatIsNoEventIsNamed) {
  const std::string node = testing::PbEnvelopeOf("Node", "");
  const std::string service = testing::PbEnvelopeOf("Service", "");
  std::string encoded;
  testing::PutBytes(3, "gzip", encoded);
  const std::pair<std::string, const char*> cases[] = {
      {"\x0a", "no watch event: object: not protobuf at byte 0: cut short"},
      {"", "an event of unknown type \"\""},
      {testing::PbEventOf("SEEN", node), "an event of unknown type \"SEEN\""},
      {testing::PbEventOf("ADDED", ""), "the ADDED event has no object"},
      {testing::PbEventOf("ADDED", "{}"),
       "the object of the ADDED event is no protobuf of Kubernetes: it does not begin with "
       "\"k8s\""},
      {testing::PbEventOf("ADDED", node + encoded),
       "the object of the ADDED event is contentEncoding: \"gzip\" is not known"},
      {testing::PbEventOf("ADDED", service),
       "an object of kind \"Service\", which is no Pod, EndpointSlice or Node"},
      {testing::PbEventOf("ADDED", node), "node : metadata.name: missing"},
  };
  for (const auto& [frame, sentence] : cases) {
    const auto event = ParseWatchFrame(frame);
    ASSERT_FALSE(event.ok()) << sentence;
    EXPECT_EQ(event.status().message(), sentence);
  }
}

TEST(WatchFrameTest, CutAtEveryByteIsAnError) {
  for (const char* file : {"pods.watch.pb", "endpointslices.watch.pb", "nodes.watch.pb"}) {
    const std::string whole = RecordedFrames(file)[0];
    ASSERT_TRUE(ParseWatchFrame(whole).ok());
    for (size_t cut = 0; cut < whole.size(); ++cut) {
      ASSERT_FALSE(ParseWatchFrame(std::string_view(whole).substr(0, cut)).ok()) << file << cut;
    }
  }
}

TEST(ApiStatusTest, BodyOfARefusal) {
  const ApiStatus expected{.code = 410,
                           .reason = "Expired",
                           .message = "too old resource version: 5 (9)",
                           .retry_after = std::chrono::seconds(3)};
  EXPECT_EQ(StatusOfBody(testing::KubeData("status.pb")), expected);
  EXPECT_EQ(StatusOfBody(
                R"json({"kind":"Status","code":410,"reason":"Expired","details":{)json"
                R"json("retryAfterSeconds":3},"message":"too old resource version: 5 (9)"})json"),
            expected);
  EXPECT_EQ(StatusOfBody("Too many\tconnections\r\nmore"),
            (ApiStatus{.message = "Too many?connections"}));
  EXPECT_EQ(StatusOfBody(R"({"kind":"Pod"})"), (ApiStatus{.message = R"({"kind":"Pod"})"}));
  EXPECT_EQ(StatusOfBody(""), ApiStatus());
}

TEST(ApiStatusTest, RetryAfterIsHeldInBounds) {
  EXPECT_EQ(RetryAfterOfSeconds(-1), Nanos(0));
  EXPECT_EQ(RetryAfterOfSeconds(7), std::chrono::seconds(7));
  EXPECT_EQ(RetryAfterOfSeconds(std::numeric_limits<int64_t>::max()), kLongestRetryAfter);
}

}  // namespace
}  // namespace phantomd
