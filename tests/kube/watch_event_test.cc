#include "agent/kube/watch_event.h"

#include "gtest/gtest.h"
#include "tests/kube/kube_data.h"

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
  EXPECT_EQ(event->error, "Expired: too old resource version: 5 (9)");
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

}  // namespace
}  // namespace phantomd
