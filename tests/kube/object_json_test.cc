#include "agent/kube/object_json.h"

#include <map>

#include "agent/kube/rfc3339.h"
#include "agent/kube/watch_event.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kube/kube_data.h"

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
    if (event.ok() && event->type != WatchEvent::Type::kBookmark) {
      out.push_back(std::get<T>(event->change));
    }
  }
  return out;
}

template <typename T>
absl::StatusOr<T> Decode(absl::StatusOr<T> (*decode)(simdjson::dom::element),
                         const std::string& json) {
  simdjson::dom::parser parser;
  return decode(parser.parse(json).value());
}
absl::StatusOr<PodChange> Pod(const std::string& json) { return Decode(DecodePod, json); }
absl::StatusOr<SliceChange> Slice(const std::string& json) { return Decode(DecodeSlice, json); }
absl::StatusOr<NodeChange> Node(const std::string& json) { return Decode(DecodeNode, json); }

WallTime At(const char* text) { return *ParseRfc3339(text); }
IpAddr Ip(const char* text) { return *IpAddr::Parse(text); }

TEST(PodJsonTest, RunningPodOfADeployment) {
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

TEST(PodJsonTest, DeathOfAPodStepByStep) {
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

TEST(PodJsonTest, EveryKindOfOwner) {
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

TEST(PodJsonTest, RemainingFields) {
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

TEST(PodJsonTest, OnlyTheControllerIsTheOwner) {
  const auto pod = Pod(R"({"metadata":{"name":"a","namespace":"n","uid":"u","ownerReferences":[
      {"kind":"Backup","name":"b"},{"kind":"Job","name":"j","controller":true},
      {"kind":"Other","name":"o","controller":false}]}})");
  EXPECT_EQ(pod->pod.workload, (WorkloadRef{"n", "Job", "j"}));
}

TEST(PodJsonTest, PodIpIsTheFallbackOfPodIps) {
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

TEST(PodJsonTest, WrongFieldIsNamedWithThePod) {
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

TEST(SliceJsonTest, SlicesOfTheStream) {
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

TEST(SliceJsonTest, AbsentConditionsHaveTheDefaultsOfTheApi) {
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

TEST(SliceJsonTest, OnlyAPodIsAPodTarget) {
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

TEST(SliceJsonTest, WrongFieldIsNamedWithTheSlice) {
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

TEST(NodeJsonTest, NodeOfTheStream) {
  const NodeChange expected{.name = "node-a",
                            .ready = true,
                            .last_heartbeat = At("2026-11-29T18:40:00Z"),
                            .addresses = {Ip("192.168.7.10"), Ip("203.0.113.7")},
                            .pod_cidrs = {"10.244.1.0/24", "fd00:10:244:1::/64"}};
  EXPECT_THAT(ChangesOf<NodeChange>("nodes.json"), ElementsAre(expected));
}

TEST(NodeJsonTest, PodCidrIsTheFallbackAndUnknownIsNotReady) {
  const auto node = Node(R"({"metadata":{"name":"n"},"spec":{"podCIDR":"10.1.0.0/24"},
      "status":{"conditions":[{"type":"Ready","status":"Unknown"}]}})");
  EXPECT_THAT(node->pod_cidrs, ElementsAre("10.1.0.0/24"));
  EXPECT_FALSE(node->ready);
}

TEST(NodeJsonTest, WrongFieldIsNamedWithTheNode) {
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

}  // namespace
}  // namespace phantomd
