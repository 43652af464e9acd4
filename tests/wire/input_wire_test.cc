#include "agent/wire/input_wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/message_differencer.h>

#include <functional>

#include "agent/wire/noun_wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/wire/sample_inputs.h"

namespace phantomd {
namespace {

namespace v1 = phantom::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::HasSubstr;

v1::Input Encoded(const Input& input) {
  v1::Input out;
  EncodeInput(input, &out);
  return out;
}

template <typename T>
v1::Input EncodedSample() {
  for (const Input& input : testing::EveryInput()) {
    if (std::holds_alternative<T>(input.value)) return Encoded(input);
  }
  ADD_FAILURE() << "no sample of this kind";
  return {};
}

// The names of all fields of `message` and of the messages in it that hold their default.
void CollectUnset(const Message& message, const std::string& path, std::vector<std::string>* out) {
  const auto* descriptor = message.GetDescriptor();
  const auto* reflection = message.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const std::string name = path + field->name();
    const bool set = field->is_repeated() ? reflection->FieldSize(message, field) > 0
                                          : reflection->HasField(message, field);
    if (!set) {
      if (field->containing_oneof() == nullptr) out->push_back(name);
      continue;
    }
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const Message& child = field->is_repeated() ? reflection->GetRepeatedMessage(message, field, 0)
                                                : reflection->GetMessage(message, field);
    CollectUnset(child, name + ".", out);
  }
}

TEST(InputWireTest, EveryFieldSurvivesTheRoundTrip) {
  for (const Input& input : testing::EveryInput()) {
    const v1::Input message = Encoded(input);
    const absl::StatusOr<Input> decoded = DecodeInput(message);
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString() << message.ShortDebugString();
    EXPECT_EQ(*decoded, input) << message.ShortDebugString();
  }
}

TEST(InputWireTest, EncodingSetsEveryFieldOfTheFormat) {
  std::vector<std::string> unset;
  for (const Input& input : testing::EveryInput()) CollectUnset(Encoded(input), "", &unset);
  // The first endpoint of the sample slice is the one that is neither ready nor serving.
  EXPECT_THAT(unset, ::testing::ElementsAre("slice.endpoints.ready", "slice.endpoints.serving"));
}

TEST(InputWireTest, SamplesCoverEveryKindOfInput) {
  std::set<int> kinds;
  for (const Input& input : testing::EveryInput()) kinds.insert(Encoded(input).input_case());
  EXPECT_EQ(kinds.size(), size_t(v1::Input::descriptor()->field_count() - 1));
  EXPECT_EQ(kinds.size(), std::variant_size_v<decltype(Input::value)>);
}

TEST(InputWireTest, SamplesCoverEveryRestoredPart) {
  std::set<int> parts;
  for (const Input& input : testing::EveryInput()) {
    if (std::holds_alternative<Restored>(input.value)) {
      parts.insert(Encoded(input).restored().part_case());
    }
  }
  EXPECT_EQ(parts.size(), size_t(v1::Restored::descriptor()->field_count()));
}

TEST(InputWireTest, DefaultsSurviveTheRoundTrip) {
  const std::vector<Input> defaults = {
      {{}, Header{}},           {{}, ProxyChange{}},    {{}, Attempt{}},
      {{}, ConnectionEnd{}},    {{}, PodChange{}},      {{}, SliceChange{}},
      {{}, FeedChange{}},       {{}, BeliefSnapshot{}}, {{}, Loss{}},
      {{}, NodeChange{}},       {{}, PodEnd{}},         {{}, ClockChange{}},
      {BootTime::Max(), Loss{}}};
  for (const Input& input : defaults) {
    const absl::StatusOr<Input> decoded = DecodeInput(Encoded(input));
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    EXPECT_EQ(*decoded, input) << input.value.index();
  }
}

TEST(InputWireTest, DecodedMessageEncodesToTheSameMessage) {
  for (const Input& input : testing::EveryInput()) {
    const v1::Input message = Encoded(input);
    EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(Encoded(*DecodeInput(message)),
                                                                   message));
  }
}

TEST(InputWireTest, EveryEnumValueHasTheNumberOfTheMessage) {
  EXPECT_EQ(int(Outcome::kOtherError), int(v1::Outcome_MAX));
  EXPECT_EQ(int(Initiator::kProxyControl), int(v1::Initiator_MAX));
  EXPECT_EQ(int(ProxyRole::kStandalone), int(v1::Proxy::Role_MAX));
  EXPECT_EQ(int(ConnectionEnd::How::kExpired), int(v1::ConnectionEnd::How_MAX));
  EXPECT_EQ(int(PodPhase::kFailed), int(v1::PodChange::Phase_MAX));
  EXPECT_EQ(int(Feed::kNodes), int(v1::FeedChange::Feed_MAX));
  EXPECT_EQ(int(FeedState::kBroken), int(v1::FeedChange::State_MAX));
  EXPECT_EQ(int(Discovery::kCustom), int(v1::BeliefSnapshot::Discovery_MAX));
  EXPECT_EQ(int(Layer::kMixed), int(v1::Layer_MAX));
  EXPECT_EQ(int(Outcome::kAbandoned), int(v1::ABANDONED));
  EXPECT_EQ(int(Initiator::kIntercepted), int(v1::INTERCEPTED));
  EXPECT_EQ(int(Discovery::kEds), int(v1::BeliefSnapshot::EDS));
}

struct BadField {
  const char* sentence;
  v1::Input message;
  std::function<void(v1::Input&)> spoil;
};

TEST(InputWireTest, BadFieldIsNamed) {
  const BadField cases[] = {
      {"input: none of the kinds of input that this version knows is set",
       {},
       [](v1::Input& m) { m.set_observed_ns(1); }},
      {"header.settings.max_hold_ns: -1 is negative", EncodedSample<Header>(),
       [](v1::Input& m) { m.mutable_header()->mutable_settings()->set_max_hold_ns(-1); }},
      {"header.settings.pod_scope: is neither \"cluster\" nor \"endpointslices\"",
       EncodedSample<Header>(),
       [](v1::Input& m) { m.mutable_header()->mutable_settings()->set_pod_scope("node"); }},
      {"header.settings.pod_cidrs[1]: not an address range: \"x\"", EncodedSample<Header>(),
       [](v1::Input& m) { m.mutable_header()->mutable_settings()->set_pod_cidrs(1, "x"); }},
      {"proxy.proxy.role: 6 is not one of its values", EncodedSample<ProxyChange>(),
       [](v1::Input& m) { m.mutable_proxy()->mutable_proxy()->set_role(v1::Proxy::Role(6)); }},
      {"attempt.initiator: -1 is not one of its values", EncodedSample<Attempt>(),
       [](v1::Input& m) { m.mutable_attempt()->set_initiator(v1::Initiator(-1)); }},
      {"attempt.outcome: 9 is not one of its values", EncodedSample<Attempt>(),
       [](v1::Input& m) { m.mutable_attempt()->set_outcome(v1::Outcome(9)); }},
      {"attempt.source_ip: an IP address has 4 or 16 bytes, not 5", EncodedSample<Attempt>(),
       [](v1::Input& m) { m.mutable_attempt()->set_source_ip("12345"); }},
      {"attempt.destination_port: 65536 is more than 65535", EncodedSample<Attempt>(),
       [](v1::Input& m) { m.mutable_attempt()->set_destination_port(65536); }},
      {"connection_end.how: 6 is not one of its values", EncodedSample<ConnectionEnd>(),
       [](v1::Input& m) { m.mutable_connection_end()->set_how(v1::ConnectionEnd::How(6)); }},
      {"connection_end.destination_ip: an IP address has 4 or 16 bytes, not 17",
       EncodedSample<ConnectionEnd>(),
       [](v1::Input& m) { m.mutable_connection_end()->set_destination_ip(std::string(17, 'x')); }},
      {"pod.phase: 5 is not one of its values", EncodedSample<PodChange>(),
       [](v1::Input& m) { m.mutable_pod()->set_phase(v1::PodChange::Phase(5)); }},
      {"pod.ips[1]: an IP address has 4 or 16 bytes, not 0", EncodedSample<PodChange>(),
       [](v1::Input& m) { m.mutable_pod()->set_ips(1, ""); }},
      {"slice.ports[0].port: 70000 is more than 65535", EncodedSample<SliceChange>(),
       [](v1::Input& m) { m.mutable_slice()->mutable_ports(0)->set_port(70000); }},
      {"slice.endpoints[1].addresses[0]: an IP address has 4 or 16 bytes, not 3",
       EncodedSample<SliceChange>(),
       [](v1::Input& m) { m.mutable_slice()->mutable_endpoints(1)->set_addresses(0, "abc"); }},
      {"feed.feed: 4 is not one of its values", EncodedSample<FeedChange>(),
       [](v1::Input& m) { m.mutable_feed()->set_feed(v1::FeedChange::Feed(4)); }},
      {"feed.state: 3 is not one of its values", EncodedSample<FeedChange>(),
       [](v1::Input& m) { m.mutable_feed()->set_state(v1::FeedChange::State(3)); }},
      {"belief.clusters[0].discovery: 7 is not one of its values", EncodedSample<BeliefSnapshot>(),
       [](v1::Input& m) {
         m.mutable_belief()->mutable_clusters(0)->set_discovery(v1::BeliefSnapshot::Discovery(7));
       }},
      {"belief.clusters[0].layer: 4 is not one of its values", EncodedSample<BeliefSnapshot>(),
       [](v1::Input& m) { m.mutable_belief()->mutable_clusters(0)->set_layer(v1::Layer(4)); }},
      {"belief.clusters[0].endpoints[0].port: 70000 is more than 65535",
       EncodedSample<BeliefSnapshot>(),
       [](v1::Input& m) {
         m.mutable_belief()->mutable_clusters(0)->mutable_endpoints(0)->set_port(70000);
       }},
      {"belief.clusters[0].endpoints[0].ip: an IP address has 4 or 16 bytes, not 2",
       EncodedSample<BeliefSnapshot>(),
       [](v1::Input& m) {
         m.mutable_belief()->mutable_clusters(0)->mutable_endpoints(0)->set_ip("ab");
       }},
      {"node.addresses[0]: an IP address has 4 or 16 bytes, not 1", EncodedSample<NodeChange>(),
       [](v1::Input& m) { m.mutable_node()->set_addresses(0, "a"); }},
      {"node.pod_cidrs[0]: not an address range: \"10.0.0.0\"", EncodedSample<NodeChange>(),
       [](v1::Input& m) { m.mutable_node()->set_pod_cidrs(0, "10.0.0.0"); }},
      {"pod_end.ips[0]: an IP address has 4 or 16 bytes, not 15", EncodedSample<PodEnd>(),
       [](v1::Input& m) { m.mutable_pod_end()->set_ips(0, std::string(15, 'x')); }},
      {"restored.part: none of the parts that this version knows is set",
       {},
       [](v1::Input& m) { m.mutable_restored(); }},
      {"restored.totals.by_class[0].value: 7 is not one of its values", EncodedSample<Restored>(),
       [](v1::Input& m) {
         m.mutable_restored()->mutable_totals()->mutable_by_class(0)->set_value(7);
       }},
      {"restored.held_attempt.attempt.outcome: 9 is not one of its values",
       {},
       [](v1::Input& m) {
         m.mutable_restored()->mutable_held_attempt()->mutable_attempt()->set_outcome(
             v1::Outcome(9));
       }},
      {"restored.waits.histogram.buckets: has not as many buckets as the metric",
       {},
       [](v1::Input& m) {
         m.mutable_restored()->mutable_waits()->mutable_histogram()->add_buckets(1);
       }},
  };
  for (const BadField& c : cases) {
    v1::Input message = c.message;
    c.spoil(message);
    const absl::StatusOr<Input> decoded = DecodeInput(message);
    ASSERT_FALSE(decoded.ok()) << c.sentence;
    EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(decoded.status().message(), c.sentence);
  }
}

TEST(InputWireTest, FirstBadFieldIsTheOneNamed) {
  v1::Input message = EncodedSample<Attempt>();
  message.mutable_attempt()->set_source_port(70001);
  message.mutable_attempt()->set_destination_port(70002);
  EXPECT_EQ(DecodeInput(message).status().message(),
            "attempt.source_port: 70001 is more than 65535");
}

TEST(InputWireTest, FourByteAddressIsTheSameAddress) {
  v1::Input message = EncodedSample<Attempt>();
  message.mutable_attempt()->set_source_ip(std::string("\x0a\x01\x02\x03", 4));
  EXPECT_EQ(std::get<Attempt>(DecodeInput(message)->value).source.ip, IpAddr::V4(10, 1, 2, 3));
}

TEST(WireTextTest, WhatIsNotUtf8IsReplacedByteByByte) {
  const std::pair<std::string, std::string> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"h\xC3\xA9", "h\xC3\xA9"},
      {"\xE2\x82\xAC\xF0\x9F\x91\xBB", "\xE2\x82\xAC\xF0\x9F\x91\xBB"},
      {"a\xFFz", "a\xEF\xBF\xBDz"},
      {"\xC3", "\xEF\xBF\xBD"},                                  // cut
      {"\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD"},                  // cut
      {"\xC0\xAF", "\xEF\xBF\xBD\xEF\xBF\xBD"},                  // overlong
      {"\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"},  // surrogate
      {std::string("\0x", 2), std::string("\0x", 2)},
  };
  for (const auto& [in, out] : cases) EXPECT_EQ(WireText(in), out);
}

TEST(InputWireTest, TextThatIsNotUtf8CanBeReadAgain) {
  Input input{BootTime::FromNanos(1), BeliefSnapshot{.error = "rubbish \xFF\xC3"}};
  const std::string bytes = Encoded(input).SerializeAsString();
  v1::Input parsed;
  ASSERT_TRUE(parsed.ParseFromString(bytes));
  EXPECT_THAT(std::get<BeliefSnapshot>(DecodeInput(parsed)->value).error,
              HasSubstr("rubbish \xEF\xBF\xBD"));
}

}  // namespace
}  // namespace phantomd
