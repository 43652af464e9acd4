#include "agent/wire/report_wire.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "agent/wire/message_json.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using testing::At;

template <typename Value, typename Out>
Out EncodePart(const Report& report, const Value& value) {
  Out out;
  ReportEncoder(report).Encode(value, &out);
  return out;
}

// Equal to the message that `text` describes; else the differences.
::testing::AssertionResult Is(const Message& actual, const std::string& text) {
  std::unique_ptr<Message> expected(actual.New());
  if (!google::protobuf::TextFormat::ParseFromString(text, expected.get())) {
    return ::testing::AssertionFailure() << "the expectation does not parse";
  }
  std::string differences;
  google::protobuf::util::MessageDifferencer differencer;
  differencer.ReportDifferencesToString(&differences);
  if (differencer.Compare(*expected, actual)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << differences;
}

void CollectSetFields(const Message& message, std::set<std::string>* out) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    out->insert(field->full_name());
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      CollectSetFields(message.GetReflection()->GetMessage(message, field), out);
      continue;
    }
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
      CollectSetFields(message.GetReflection()->GetRepeatedMessage(message, field, i), out);
    }
  }
}

void CollectAllFields(const google::protobuf::Descriptor* type, std::set<std::string>* out) {
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    if (!out->insert(field->full_name()).second) continue;
    if (field->message_type() != nullptr) CollectAllFields(field->message_type(), out);
  }
}

TEST(ReportWireTest, NoFieldOfAReportOrAnExplanationIsForgotten) {
  const Report report = testing::SampleReport();
  pb::Report whole;
  EncodeReport(report, &whole);
  std::set<std::string> set;
  CollectSetFields(whole, &set);
  AddressExplanation unknown = testing::SampleExplanation();
  unknown.unknown_reason = UnknownReason::kBeforeHorizon;
  CollectSetFields(EncodePart<AddressExplanation, pb::AddressExplanation>(report, unknown), &set);

  std::set<std::string> all;
  CollectAllFields(pb::Report::descriptor(), &all);
  CollectAllFields(pb::AddressExplanation::descriptor(), &all);
  // What the engine cannot know; serve/ adds it.
  all.erase("phantom.v1.Status.limitations");
  all.erase("phantom.v1.FeedStatus.error");
  for (const std::string& field : all) EXPECT_TRUE(set.contains(field)) << field << " is never set";
}

TEST(ReportWireTest, StatusIsShownWithWallTime) {
  const Report report = testing::SampleReport();
  EXPECT_TRUE(Is((EncodePart<StatusReport, pb::Status>(report, report.status)), R"pb(
    node_name: "node-1"
    agent_version: "0.1.0"
    started { seconds: 1795978741 }
    judged_until { seconds: 1795978797 }
    horizon { seconds: 1795978741 }
    attempts: 120
    attempts_by_class { key: "DEAD" count: 7 }
    attempts_by_class { key: "LIVE" count: 108 }
    attempts_by_class { key: "REUSED" count: 2 }
    attempts_by_class { key: "WITHDRAWN" count: 3 }
    lost { key: "attempt" count: 4 }
    feeds {
      feed: "pods"
      synced: true
      last_change { seconds: 1795978745 }
      relists: 1
      good_until { seconds: 1795978799 }
    }
    feeds {
      feed: "slices"
      synced: true
      last_change { seconds: 1795978746 }
    }
    feeds { feed: "nodes" }
    proxies: 2
    proxies_without_belief: 1
    pods_indexed: 12
    tombstones: 3
    held: 5
    late { key: "pod" count: 1 }
    connections_dropped: 6
    not_judged: 40
    losses {
      what: "attempt"
      count: 4
      from { seconds: 1795978743 }
      to { seconds: 1795978743 nanos: 200000000 }
      proxy_id: "webapp-1/c0ffee"
    }
    losses {
      what: "attempt"
      count_unknown: true
      from { seconds: 1795978780 }
      to { seconds: 1795978781 }
    }
  )pb"));
}

TEST(ReportWireTest, ProxyWithoutBeliefHasNoTimeAndSaysWhy) {
  const Report report = testing::SampleReport();
  pb::ProxyStatus out;
  ReportEncoder(report).Encode(report.proxies[1], &out);
  EXPECT_FALSE(out.has_last_belief());
  EXPECT_FALSE(out.has_admin_poll_duration());
  EXPECT_EQ(out.belief_error(), "127.0.0.1:15000 refused the connection");
  EXPECT_EQ(out.proxy().role(), pb::Proxy::SIDECAR);
}

TEST(ReportWireTest, RolloutInAListHasNoWindowsButTheirSummary) {
  const Report report = testing::SampleReport();
  pb::Rollout out;
  ReportEncoder(report).Encode(report.rollouts[0], ReportEncoder::Windows::kWithout, &out);
  EXPECT_TRUE(Is(out, R"pb(
    name: "shop/Deployment/catalog/7d9f8c/20261129T185902Z"
    workload { namespace: "shop" kind: "Deployment" name: "catalog" }
    from_revision: "5b6d"
    to_revision: "7d9f8c"
    departure: ROLLOUT
    started { seconds: 1795978742 }
    finished { seconds: 1795978748 nanos: 500000000 }
    pods_departed: 3
    attempts: 13
    withdrawn: 3
    dead: 7
    reused: 2
    other: 1
    by_cause { key: "AFTER_REMOVAL" count: 1 }
    by_cause { key: "STALE_EDS" count: 8 }
    by_outcome { key: "ABANDONED" count: 7 }
    by_outcome { key: "ESTABLISHED" count: 2 }
    by_layer { key: "L4" count: 5 }
    by_layer { key: "L7" count: 4 }
    window_p50 { seconds: 3 nanos: 20000000 }
    window_max { seconds: 6 }
    wait_p50 { seconds: 1 }
    wait_max { seconds: 1 nanos: 4000000 }
    wait_total { seconds: 7 nanos: 28000000 }
    stranded: 2
    attempts_lost: 4
    lower_bounds: true
    stranded_by_end { key: "EXPIRED" count: 2 }
    stranded_after {
      how: "EXPIRED"
      count: 2
      after_p50 { seconds: 900 }
      after_max { seconds: 930 }
    }
  )pb"));
}

TEST(ReportWireTest, RolloutAloneHasItsWindowsSlowestFirstAndAnOpenOneWithoutEnd) {
  const Report report = testing::SampleReport();
  pb::Rollout out;
  ReportEncoder(report).Encode(report.rollouts[0], ReportEncoder::Windows::kWith, &out);
  ASSERT_EQ(out.windows_size(), 2);
  EXPECT_TRUE(Is(out.windows(0), R"pb(
    proxy_id: "webapp-2/c0ffee"
    proxy_name: "shop/webapp-2"
    opened { seconds: 1795978742 }
  )pb"));
  EXPECT_TRUE(Is(out.windows(1), R"pb(
    proxy_id: "webapp-1/c0ffee"
    proxy_name: "shop/webapp-1"
    opened { seconds: 1795978742 }
    closed { seconds: 1795978745 nanos: 20000000 }
    closed_error { nanos: 25000000 }
    last_connection { seconds: 1795978744 nanos: 900000000 }
    attempts: 13
    phantoms: 9
  )pb"));
}

TEST(ReportWireTest, ConnectionNamesTheChangeOfItsLastHolder) {
  const Report report = testing::SampleReport();
  EXPECT_TRUE(Is((EncodePart<Connection, pb::Connection>(report, testing::SampleConnection(1))),
                 R"pb(
                   proxy_id: "webapp-1/c0ffee"
                   proxy_name: "shop/webapp-1"
                   initiator: PROXY
                   source: "10.1.0.20:40001"
                   destination: "10.1.0.1:8080"
                   started { seconds: 1795978743 nanos: 1000000 }
                   duration { seconds: 1 nanos: 4000000 }
                   outcome: ABANDONED
                   error_number: 110
                   syn_retransmits: 1
                   destination_class: DEAD
                   certainty: INFERRED
                   cause: STALE_EDS
                   layer: L4
                   cluster: "outbound|8080||catalog.shop.svc.cluster.local"
                   rollout: "shop/Deployment/catalog/7d9f8c/20261129T185902Z"
                   last_holder {
                     pod {
                       uid: "uid-catalog-5b6d-a"
                       namespace: "shop"
                       name: "catalog-5b6d-a"
                       workload { namespace: "shop" kind: "Deployment" name: "catalog" }
                       revision: "5b6d"
                       node_name: "node-1"
                     }
                     acquired { seconds: 1795978740 nanos: 500000000 }
                     withdrawn { seconds: 1795978742 }
                     released_not_before { seconds: 1795978742 nanos: 250000000 }
                     released_not_after { seconds: 1795978742 nanos: 750000000 }
                     departure: ROLLOUT
                     evidence: "deleted event"
                   }
                   since_withdrawn { seconds: 1 nanos: 1000000 }
                   since_dead { nanos: 251000000 }
                   socket_cookie: 9001
                 )pb"));
}

TEST(ReportWireTest, ConnectThatFailedOnTheSpotHasADurationOfZero) {
  Connection connection = testing::SampleConnection(1);
  connection.duration = Nanos(0);
  const auto out = EncodePart<Connection, pb::Connection>(testing::SampleReport(), connection);
  EXPECT_TRUE(out.has_duration());
}

TEST(ReportWireTest, HolderThatStillHoldsTheAddressHasNoEnd) {
  const Report report = testing::SampleReport();
  for (const BootTime never : {BootTime(), BootTime::Max()}) {
    Connection connection = testing::SampleConnection(1);
    connection.last_holder.released_not_before = never;
    connection.last_holder.released_not_after = never;
    connection.last_holder.acquired = BootTime::Min();
    const auto out = EncodePart<Connection, pb::Connection>(report, connection);
    EXPECT_FALSE(out.last_holder().has_released_not_before());
    EXPECT_FALSE(out.last_holder().has_released_not_after());
    EXPECT_FALSE(out.last_holder().has_acquired());
  }
}

TEST(ReportWireTest, ReportListsItsConnectionsNewestFirstAcrossChunks) {
  pb::Report out;
  EncodeReport(testing::SampleReport(), &out);
  ASSERT_EQ(out.connections_size(), 3);
  EXPECT_EQ(out.connections(0).socket_cookie(), 9003u);
  EXPECT_EQ(out.connections(1).socket_cookie(), 9002u);
  EXPECT_EQ(out.connections(2).socket_cookie(), 9001u);
}

TEST(ReportWireTest, StaleEndpointNamesItsHolder) {
  const Report report = testing::SampleReport();
  pb::StaleEndpoint out;
  ReportEncoder(report).Encode(report.stale_endpoints[0], &out);
  EXPECT_EQ(out.address(), "10.1.0.1:8080");
  EXPECT_EQ(out.destination_class(), pb::DEAD);
  EXPECT_EQ(out.cause(), pb::STALE_EDS);
  EXPECT_EQ(out.holder().pod().name(), "catalog-5b6d-a");
  EXPECT_EQ(out.believed_since().seconds(), 1795978741);
}

TEST(ReportWireTest, ExplanationOfAnyPortNamesTheAddressAlone) {
  const Report report = testing::SampleReport();
  AddressExplanation explanation = testing::SampleExplanation();
  EXPECT_EQ((EncodePart<AddressExplanation, pb::AddressExplanation>(report, explanation).address()),
            "10.1.0.1");
  explanation.address.port = 8080;
  const auto out = EncodePart<AddressExplanation, pb::AddressExplanation>(report, explanation);
  EXPECT_EQ(out.address(), "10.1.0.1:8080");
  EXPECT_TRUE(Is(out.beliefs(1), R"pb(
    proxy_id: "webapp-2/c0ffee"
    proxy_name: "shop/webapp-2"
    cluster: "outbound|8080||catalog.shop.svc.cluster.local"
    first_seen { seconds: 1795978741 }
    last_seen { seconds: 1795978743 }
    gone_by { seconds: 1795978743 nanos: 50000000 }
    health: "dropped"
  )pb"));
}

TEST(ReportWireTest, TextThatIsNotUtf8CanStillBeShown) {
  const Report report = testing::SampleReport();
  Connection connection = testing::SampleConnection(1);
  connection.cluster = "bad\xFFname";
  const auto out = EncodePart<Connection, pb::Connection>(report, connection);
  EXPECT_EQ(out.cluster(), "bad\xEF\xBF\xBDname");
}

TEST(MessageJsonTest, IsProto3JsonWithoutDefaults) {
  pb::FeedStatus feed;
  feed.set_feed("pods");
  feed.set_relists(3);
  feed.mutable_last_change()->set_seconds(1795978745);
  EXPECT_EQ(MessageToJson(feed, JsonStyle::kLine),
            R"({"feed":"pods","lastChange":"2026-11-29T18:59:05Z","relists":"3"})");
  EXPECT_EQ(MessageToJson(feed, JsonStyle::kPretty),
            "{\n \"feed\": \"pods\",\n \"lastChange\": \"2026-11-29T18:59:05Z\",\n"
            " \"relists\": \"3\"\n}\n");
}

TEST(MessageJsonTest, SameReportIsSameText) {
  pb::Report first, second;
  EncodeReport(testing::SampleReport(), &first);
  EncodeReport(testing::SampleReport(), &second);
  EXPECT_EQ(MessageToJson(first, JsonStyle::kPretty), MessageToJson(second, JsonStyle::kPretty));
}

}  // namespace
}  // namespace phantomd
