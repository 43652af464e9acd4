#include "agent/kube/object_decoder.h"

#include <map>

#include "agent/kube/pb_object.h"
#include "agent/kube/pb_streams.h"
#include "agent/kube/rfc3339.h"
#include "agent/kube/watch_event.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kube/kube_data.h"
#include "tests/kube/pb_writer.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> ChangesOf(const std::string& file) {
  WatchEventParser parser;
  std::vector<T> out;
  for (const std::string& text : testing::EventTexts(testing::KubeData(file))) {
    const auto event = parser.Parse(text);
    EXPECT_TRUE(event.ok()) << event.status().ToString();
    EXPECT_EQ(event->trouble, "");
    if (event.ok() && event->type != WatchEvent::Type::kBookmark) {
      out.push_back(std::get<T>(event->change));
    }
  }
  return out;
}

// The object as JSON, and the same in protobuf wherever protobuf can say it: both tell the same,
// and the same is wrong with both.
template <typename T>
absl::StatusOr<T> Decode(Feed feed, const char* kind, const std::string& json) {
  simdjson::dom::parser parser;
  const DecodedObject object = DecodeObject(feed, parser.parse(json).value());
  if (const std::optional<std::string> message = testing::PbFromJson(kind, json)) {
    const DecodedObject other = DecodeObject(feed, std::string_view(*message));
    EXPECT_EQ(other.trouble, object.trouble) << json;
    EXPECT_EQ(other.change, object.change) << json;
    EXPECT_EQ(other.resource_version, object.resource_version) << json;
  }
  if (!object.trouble.empty()) return absl::InvalidArgumentError(object.trouble);
  return std::get<T>(object.change);
}
absl::StatusOr<PodChange> Pod(const std::string& json) {
  return Decode<PodChange>(Feed::kPods, "Pod", json);
}
absl::StatusOr<SliceChange> Slice(const std::string& json) {
  return Decode<SliceChange>(Feed::kSlices, "EndpointSlice", json);
}
absl::StatusOr<NodeChange> Node(const std::string& json) {
  return Decode<NodeChange>(Feed::kNodes, "Node", json);
}

WallTime At(const char* text) { return *ParseRfc3339(text); }
IpAddr Ip(const char* text) { return *IpAddr::Parse(text); }

TEST(PodDecoderTest, RunningPodOfADeployment) {
  const PodChange expected{.pod = {.uid = PodUid("7c1f0a52-3d35-4b0e-9a3e-1f4f5b7b0001"),
                                   .ns = "shop",
                                   .name = "catalog-6d5f7c9b8-2nmbd",
                                   .workload = {"shop", "Deployment", "catalog"},
                                   .revision = "6d5f7c9b8",
                                   .node_name = "node-a"},
                           .ips = {Ip("10.244.1.16"), Ip("fd00:10:244:1::16")},
                           .phase = PodPhase::kRunning,
                           .ready = true,
                           .created = At("2026-11-29T18:40:11Z")};
  EXPECT_EQ(ChangesOf<PodChange>("pods.json")[0], expected);
}

TEST(PodDecoderTest, DeathOfAPodStepByStep) {
  std::vector<PodChange> steps;
  for (PodChange& change : ChangesOf<PodChange>("pods.json")) {
    if (change.pod.name == "catalog-6d5f7c9b8-2nmbd") steps.push_back(std::move(change));
  }
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_FALSE(steps[0].deletion_requested.is_set());
  EXPECT_EQ(steps[1].deletion_requested, At("2026-11-29T18:59:03Z"));
  EXPECT_FALSE(steps[1].containers_finished.is_set());
  EXPECT_EQ(steps[2].containers_finished, At("2026-11-29T18:59:06Z"));  // the sidecar, not the app
  EXPECT_EQ(steps[2].phase, PodPhase::kSucceeded);
  EXPECT_FALSE(steps[2].ready);
  // The last deletion has no grace and its own time.
  EXPECT_EQ(steps[3].deletion_requested, At("2026-11-29T18:59:07Z"));
  EXPECT_EQ(steps[4].ips.size(), 2u);  // a deleted pod still shows its addresses
}

TEST(PodDecoderTest, EveryKindOfOwner) {
  std::map<std::string, std::string> workloads;
  for (const PodChange& change : ChangesOf<PodChange>("pods.json")) {
    workloads[change.pod.name] =
        change.pod.workload.kind + "/" + change.pod.workload.name + "@" + change.pod.revision;
  }
  const std::map<std::string, std::string> expected = {
      {"batch-evicted", "Pod/batch-evicted@"},
      {"cache-8kd2j", "ReplicaSet/cache@"},
      {"catalog-6d5f7c9b8-2nmbd", "Deployment/catalog@6d5f7c9b8"},
      {"catalog-6d5f7c9b8-vbkxj", "Deployment/catalog@6d5f7c9b8"},
      {"checkout-5c8d9f6b7d-qwert", "Rollout/checkout@5c8d9f6b7d"},
      {"db-0", "StatefulSet/db@db-7b9f6d"},
      {"debug", "Pod/debug@"},
      {"kube-apiserver-node-a", "Pod/kube-apiserver-node-a@"},
      {"node-exporter-x7k2p", "DaemonSet/node-exporter@5f6b7c"},
      {"report-28871-h5x2q", "Job/report-28871@"},
  };
  EXPECT_EQ(workloads, expected);
}

TEST(PodDecoderTest, RemainingFields) {
  std::map<std::string, PodChange> pods;
  for (PodChange& change : ChangesOf<PodChange>("pods.json")) pods[change.pod.name] = change;
  EXPECT_TRUE(pods["node-exporter-x7k2p"].host_network);
  EXPECT_FALSE(pods["db-0"].host_network);
  EXPECT_EQ(pods["batch-evicted"].departure_reason, "Evicted");
  EXPECT_EQ(pods["batch-evicted"].phase, PodPhase::kFailed);
  EXPECT_EQ(pods["catalog-6d5f7c9b8-vbkxj"].phase, PodPhase::kPending);
  EXPECT_TRUE(pods["catalog-6d5f7c9b8-vbkxj"].ips.empty());
  EXPECT_EQ(pods["catalog-6d5f7c9b8-vbkxj"].pod.node_name, "");
  EXPECT_EQ(pods["report-28871-h5x2q"].containers_finished, At("2026-11-29T18:41:00Z"));
}

TEST(PodDecoderTest, OnlyTheControllerIsTheOwner) {
  const auto pod = Pod(R"({"metadata":{"name":"a","namespace":"n","uid":"u","ownerReferences":[
      {"kind":"Backup","name":"b"},{"kind":"Job","name":"j","controller":true},
      {"kind":"Other","name":"o","controller":false}]}})");
  EXPECT_EQ(pod->pod.workload, (WorkloadRef{"n", "Job", "j"}));
}

TEST(PodDecoderTest, PodIpIsTheFallbackOfPodIps) {
  const auto with_status = [](const std::string& status) {
    return Pod(R"({"metadata":{"name":"a","uid":"u"},"status":)" + status + "}");
  };
  EXPECT_THAT(with_status(R"({"podIP":"10.0.0.1"})")->ips, ElementsAre(Ip("10.0.0.1")));
  EXPECT_THAT(with_status(R"({"podIP":"10.0.0.1","podIPs":[]})")->ips, ElementsAre(Ip("10.0.0.1")));
  EXPECT_THAT(with_status(R"({"podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.2"}]})")->ips,
              ElementsAre(Ip("10.0.0.2")));
  EXPECT_TRUE(with_status(R"({"podIP":""})")->ips.empty());
  EXPECT_TRUE(with_status("null")->ips.empty());
}

TEST(PodDecoderTest, WrongFieldIsNamedWithThePod) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "pod /: metadata.uid: missing"},
      {R"({"metadata":{"uid":"u"}})", "pod /: metadata.name: missing"},
      {R"({"metadata":{"name":"a","namespace":"n"}})", "pod n/a: metadata.uid: missing"},
      {R"({"metadata":[]})", "pod /: metadata: not an object"},
      {R"({"metadata":{"name":"a","namespace":"n","uid":7}})",
       "pod n/a: metadata.uid: not a string"},
      {R"({"metadata":{"name":"a","namespace":"n","uid":"u"},"status":{"podIPs":[{"ip":"x"}]}})",
       "pod n/a: status.podIPs[0].ip: not an IP address: \"x\""},
      {R"({"metadata":{"name":"a","namespace":"n","uid":"u"},"status":{"podIPs":{}}})",
       "pod n/a: status.podIPs: not a list"},
      {R"({"metadata":{"name":"a","namespace":"n","uid":"u"},"status":{"conditions":[1]}})",
       "pod n/a: status.conditions[0]: not an object"},
      {R"({"metadata":{"name":"a","namespace":"n","uid":"u"},"spec":{"hostNetwork":"yes"}})",
       "pod n/a: spec.hostNetwork: neither true nor false"},
      {R"({"metadata":{"name":"a","namespace":"n","uid":"u","creationTimestamp":"now"}})",
       "pod n/a: metadata.creationTimestamp: not a time in RFC 3339: \"now\""},
      {R"({"metadata":{"name":"a","namespace":"n","uid":"u","deletionGracePeriodSeconds":"1"}})",
       "pod n/a: metadata.deletionGracePeriodSeconds: not an integer"},
  };
  for (const auto& [json, sentence] : cases) {
    const auto pod = Pod(json);
    ASSERT_FALSE(pod.ok()) << json;
    EXPECT_EQ(pod.status().message(), sentence);
  }
}

TEST(SliceDecoderTest, SlicesOfTheStream) {
  const std::vector<SliceChange> slices = ChangesOf<SliceChange>("endpointslices.json");
  ASSERT_EQ(slices.size(), 5u);
  const SliceChange expected{
      .ns = "shop",
      .name = "catalog-5x2kq",
      .service = "catalog",
      .ports = {{"http", 8080}, {"https", 8443}},
      .endpoints = {{.addresses = {Ip("10.244.1.16")},
                     .pod_uid = PodUid("7c1f0a52-3d35-4b0e-9a3e-1f4f5b7b0001")}}};
  EXPECT_EQ(slices[0], expected);
  EXPECT_EQ(slices[1], (SliceChange{.ns = "shop", .name = "manual", .service = "legacy"}));
  // Host names are no addresses.
  EXPECT_EQ(slices[2], (SliceChange{.ns = "shop", .name = "external", .ports = {{"", 0}}}));
  EXPECT_FALSE(slices[3].endpoints[0].ready);
  EXPECT_TRUE(slices[3].endpoints[0].serving);
  EXPECT_TRUE(slices[3].endpoints[0].terminating);
}

TEST(SliceDecoderTest, AbsentConditionsHaveTheDefaultsOfTheApi) {
  const struct {
    const char* conditions;
    bool ready, serving, terminating;
  } cases[] = {
      {"{}", true, true, false},
      {"null", true, true, false},
      {R"({"ready":false})", false, false, false},
      {R"({"ready":false,"serving":true})", false, true, false},
      {R"({"ready":null,"serving":false})", true, false, false},
      {R"({"terminating":true})", true, true, true},
      {R"({"ready":true,"serving":null,"terminating":null})", true, true, false},
  };
  for (const auto& c : cases) {
    const auto slice =
        Slice(std::string(R"({"metadata":{"name":"s"},"endpoints":[{"addresses":["10.0.0.1"],)") +
              R"("conditions":)" + c.conditions + "}]}");
    ASSERT_TRUE(slice.ok()) << slice.status().ToString();
    const SliceChange::Endpoint& endpoint = slice->endpoints[0];
    EXPECT_EQ(endpoint.ready, c.ready) << c.conditions;
    EXPECT_EQ(endpoint.serving, c.serving) << c.conditions;
    EXPECT_EQ(endpoint.terminating, c.terminating) << c.conditions;
  }
}

TEST(SliceDecoderTest, OnlyAPodIsAPodTarget) {
  const auto uid = [](const std::string& target) {
    return Slice(R"({"metadata":{"name":"s"},"endpoints":[{"addresses":[],"targetRef":)" + target +
                 "}]}")
        ->endpoints[0]
        .pod_uid;
  };
  EXPECT_EQ(uid(R"({"kind":"Pod","uid":"u"})"), PodUid("u"));
  EXPECT_TRUE(uid(R"({"kind":"VirtualMachine","uid":"u"})").empty());
  EXPECT_TRUE(uid("null").empty());
}

TEST(SliceDecoderTest, WrongFieldIsNamedWithTheSlice) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"metadata":{"namespace":"n"}})", "endpointslice n/: metadata.name: missing"},
      {R"({"metadata":{"name":"s","namespace":"n"},"ports":[{"port":70000}]})",
       "endpointslice n/s: ports[0].port: 70000 is not a port"},
      {R"({"metadata":{"name":"s","namespace":"n"},"endpoints":[{"addresses":["a.b"]}]})",
       "endpointslice n/s: endpoints[0].addresses: not an IP address: \"a.b\""},
      {R"({"metadata":{"name":"s","namespace":"n"},"endpoints":[{"addresses":[1]}]})",
       "endpointslice n/s: endpoints[0].addresses[0]: not a string"},
      {R"({"metadata":{"name":"s","namespace":"n"},"endpoints":[{"conditions":{"ready":1}}]})",
       "endpointslice n/s: endpoints[0].conditions.ready: neither true nor false"},
  };
  for (const auto& [json, sentence] : cases) {
    const auto slice = Slice(json);
    ASSERT_FALSE(slice.ok()) << json;
    EXPECT_EQ(slice.status().message(), sentence);
  }
}

TEST(NodeDecoderTest, NodeOfTheStream) {
  const NodeChange expected{.name = "node-a",
                            .ready = true,
                            .last_heartbeat = At("2026-11-29T18:40:00Z"),
                            .addresses = {Ip("192.168.7.10"), Ip("203.0.113.7")},
                            .pod_cidrs = {"10.244.1.0/24", "fd00:10:244:1::/64"}};
  EXPECT_THAT(ChangesOf<NodeChange>("nodes.json"), ElementsAre(expected));
}

TEST(NodeDecoderTest, PodCidrIsTheFallbackAndUnknownIsNotReady) {
  const auto node = Node(R"({"metadata":{"name":"n"},"spec":{"podCIDR":"10.1.0.0/24"},
      "status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})");
  EXPECT_THAT(node->pod_cidrs, ElementsAre("10.1.0.0/24"));
  EXPECT_FALSE(node->ready);
}

TEST(NodeDecoderTest, WrongFieldIsNamedWithTheNode) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({})", "node : metadata.name: missing"},
      {R"({"metadata":{"name":"n"},"spec":{"podCIDRs":["10.0.0.0"]}})",
       "node n: spec.podCIDRs: not an address range: \"10.0.0.0\""},
      {R"({"metadata":{"name":"n"},"status":{"addresses":[{"type":"InternalIP","address":"x"}]}})",
       "node n: status.addresses[0].address: not an IP address: \"x\""},
  };
  for (const auto& [json, sentence] : cases) {
    const auto node = Node(json);
    ASSERT_FALSE(node.ok()) << json;
    EXPECT_EQ(node.status().message(), sentence);
  }
}

// What a real API server's own encoder makes of the objects of the JSON streams.
TEST(ObjectDecoderTest, RecordedProtobufTellsWhatTheJsonTells) {
  const std::pair<const char*, Feed> kinds[] = {
      {"pods", Feed::kPods}, {"endpointslices", Feed::kSlices}, {"nodes", Feed::kNodes}};
  for (const auto& [name, feed] : kinds) {
    WatchEventParser parser;
    std::vector<DecodedObject> expected;
    for (const std::string& text :
         testing::EventTexts(testing::KubeData(std::string(name) + ".json"))) {
      const auto event = parser.Parse(text);
      if (event->type == WatchEvent::Type::kBookmark) continue;
      expected.push_back({event->change, event->resource_version, event->trouble});
    }
    size_t count = 0;
    PbListSplitter list;
    list.Add(testing::KubeData(std::string(name) + ".list.pb"));
    while (const auto piece = list.Next().value()) {
      if (piece->type != PbListSplitter::Piece::Type::kItem) continue;
      const DecodedObject object = DecodeObject(feed, piece->message);
      ASSERT_LT(count, expected.size());
      EXPECT_EQ(object.change, expected[count].change) << name << count;
      EXPECT_EQ(object.resource_version, expected[count].resource_version) << name << count;
      EXPECT_EQ(object.trouble, "");
      ++count;
    }
    EXPECT_EQ(count, expected.size()) << name;
  }
}

TEST(ObjectDecoderTest, ProtobufCutAtEveryByteNeverTellsAnotherObject) {
  for (const auto& [file, feed] : {std::pair("pods.list.pb", Feed::kPods),
                                   {"endpointslices.list.pb", Feed::kSlices},
                                   {"nodes.list.pb", Feed::kNodes}}) {
    PbListSplitter list;
    list.Add(testing::KubeData(file));
    while (const auto piece = list.Next().value()) {
      if (piece->type != PbListSplitter::Piece::Type::kItem) continue;
      const DecodedObject whole = DecodeObject(feed, piece->message);
      for (size_t cut = 0; cut < piece->message.size(); ++cut) {
        const DecodedObject object = DecodeObject(feed, piece->message.substr(0, cut));
        // Cut between two fields it is an object with fewer of them.
        if (IsNamed(object.change)) {
          EXPECT_EQ(KeyOf(object.change), KeyOf(whole.change)) << cut;
        } else {
          EXPECT_NE(object.trouble, "") << cut;
        }
      }
    }
  }
}

TEST(ObjectDecoderTest, ProtobufOfTheWrongFormIsNamed) {
  const auto trouble = [](const std::string& message) {
    return DecodeObject(Feed::kPods, std::string_view(message)).trouble;
  };
  const auto field = [](uint32_t number, const std::string& bytes) {
    std::string out;
    testing::PutBytes(number, bytes, out);
    return out;
  };
  const auto number = [](uint32_t field, uint64_t value) {
    std::string out;
    testing::PutNumber(field, value, out);
    return out;
  };
  const std::string named = field(1, "a") + field(3, "n") + field(5, "u");
  const std::pair<std::string, const char*> cases[] = {
      {"\x0a", "pod /: object: not protobuf at byte 0: cut short"},
      {number(1, 7), "pod /: metadata: not an object"},
      {field(1, named + "\x0e"),
       "pod /: metadata: not protobuf at byte 9: a wire type that does not exist"},
      {field(1, field(1, "a") + number(5, 7)), "pod /a: metadata.uid: not a string"},
      {field(1, named + field(1, "\xff")), "pod n/: metadata.name: not UTF-8"},
      {field(1, named + number(8, 7)), "pod n/a: metadata.creationTimestamp: not an object"},
      {field(1, named + field(8, field(1, "x"))),
       "pod n/a: metadata.creationTimestamp.seconds: not an integer"},
      {field(1, named + field(8, number(1, uint64_t{1} << 40))),
       "pod n/a: metadata.creationTimestamp: 1099511627776 s since 1970 is not in the years 1678 "
       "to 2261"},
      {field(1, named + field(10, "x")),
       "pod n/a: metadata.deletionGracePeriodSeconds: not an integer"},
      {field(1, named + field(11, "\x0a")),
       "pod n/a: metadata.labels: not protobuf at byte 0: cut short"},
      {field(1, named + field(11, field(1, "pod-template-hash") + field(2, "\xff"))),
       "pod n/a: metadata.labels: not UTF-8"},
      {field(1, named) + field(2, field(11, "x")),
       "pod n/a: spec.hostNetwork: neither true nor false"},
      {field(1, named) + field(3, field(12, field(1, "10.0.0.1")) + number(12, 1)),
       "pod n/a: status.podIPs[1]: not an object"},
      {field(1, named) + field(3, field(12, "\x0a")),
       "pod n/a: status.podIPs[0]: not protobuf at byte 0: cut short"},
  };
  for (const auto& [message, sentence] : cases) EXPECT_EQ(trouble(message), sentence);
  EXPECT_EQ(trouble(field(1, named)), "");
  std::string many = field(1, named);
  for (size_t i = 0; i < PbObject::kMaxFields; ++i) many += number(99, 0);
  EXPECT_EQ(trouble(many), "pod /: object: a message of more than 131072 fields");
}

TEST(ObjectDecoderTest, OfASingleFieldTheLastCounts) {
  std::string metadata;
  testing::PutBytes(1, "first", metadata);
  testing::PutBytes(5, "u", metadata);
  testing::PutBytes(1, "last", metadata);
  std::string message;
  testing::PutBytes(1, metadata, message);
  const DecodedObject object = DecodeObject(Feed::kPods, std::string_view(message));
  EXPECT_EQ(std::get<PodChange>(object.change).pod.name, "last");
}

}  // namespace
}  // namespace phantomd
