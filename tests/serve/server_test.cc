// Every method over a real Unix socket.

#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <thread>

#include "agent/wire/report_wire.h"
#include "tests/serve/test_server.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using google::protobuf::util::MessageDifferencer;
using testing::GiveUpAfterTwentySeconds;
using testing::TestServer;

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    server_.Publish(testing::SampleReport());
    EncodeReport(testing::SampleReport(), &expected_);
    GiveUpAfterTwentySeconds(&context_);
  }

  TestServer server_;
  std::unique_ptr<pb::PhantomService::Stub> stub_ = server_.NewStub();
  grpc::ClientContext context_;
  pb::Report expected_;
};

TEST_F(ServerTest, GetStatusAddsTheHealthOfTheEdges) {
  AgentHealth health;
  health.limitations = {"the tracepoint tcp_receive_reset is missing"};
  server_.health().Set(std::make_shared<const AgentHealth>(health));
  pb::Status out;
  ASSERT_TRUE(stub_->GetStatus(&context_, {}, &out).ok());
  expected_.mutable_status()->add_limitations("the tracepoint tcp_receive_reset is missing");
  EXPECT_TRUE(MessageDifferencer::Equals(out, expected_.status())) << out.DebugString();
}

TEST_F(ServerTest, ListProxies) {
  pb::ListProxiesResponse out;
  ASSERT_TRUE(stub_->ListProxies(&context_, {}, &out).ok());
  ASSERT_EQ(out.proxies_size(), 2);
  EXPECT_TRUE(MessageDifferencer::Equals(out.proxies(0), expected_.proxies(0)));
  EXPECT_TRUE(MessageDifferencer::Equals(out.proxies(1), expected_.proxies(1)));
}

TEST_F(ServerTest, ListRollouts) {
  pb::ListRolloutsResponse out;
  ASSERT_TRUE(stub_->ListRollouts(&context_, {}, &out).ok());
  expected_.mutable_rollouts(0)->clear_windows();
  ASSERT_EQ(out.rollouts_size(), 1);
  EXPECT_TRUE(MessageDifferencer::Equals(out.rollouts(0), expected_.rollouts(0)));
}

TEST_F(ServerTest, GetRollout) {
  pb::GetRolloutRequest request;
  request.set_name(expected_.rollouts(0).name());
  pb::Rollout out;
  ASSERT_TRUE(stub_->GetRollout(&context_, request, &out).ok());
  EXPECT_TRUE(MessageDifferencer::Equals(out, expected_.rollouts(0)));
}

TEST_F(ServerTest, GetRolloutOfAnUnknownNameIsNotFound) {
  pb::GetRolloutRequest request;
  request.set_name("shop/none");
  pb::Rollout out;
  const grpc::Status status = stub_->GetRollout(&context_, request, &out);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(status.error_message(), "no rollout is named \"shop/none\"");
}

TEST_F(ServerTest, ListConnections) {
  pb::ListConnectionsRequest request;
  request.set_filter("class=DEAD");
  pb::ListConnectionsResponse out;
  ASSERT_TRUE(stub_->ListConnections(&context_, request, &out).ok());
  ASSERT_EQ(out.connections_size(), 1);
  EXPECT_TRUE(MessageDifferencer::Equals(out.connections(0), expected_.connections(2)));
}

TEST_F(ServerTest, ListConnectionsWithABadFilterIsInvalid) {
  pb::ListConnectionsRequest request;
  request.set_filter("layer=L8");
  pb::ListConnectionsResponse out;
  const grpc::Status status = stub_->ListConnections(&context_, request, &out);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "filter: \"L8\" is no layer; there are L4, L7, MIXED");
}

TEST_F(ServerTest, ListStaleEndpoints) {
  pb::ListStaleEndpointsResponse out;
  ASSERT_TRUE(stub_->ListStaleEndpoints(&context_, {}, &out).ok());
  ASSERT_EQ(out.endpoints_size(), 1);
  EXPECT_TRUE(MessageDifferencer::Equals(out.endpoints(0), expected_.stale_endpoints(0)));
}

// The core's side of one question.
class Answerer {
 public:
  explicit Answerer(ExplainQuestions& questions)
      : thread_([this, &questions] {
          auto question = questions.Take(std::chrono::seconds(20));
          if (!question.has_value()) return;
          address = (*question)->address;
          time = (*question)->time;
          (*question)->answer.set_value(testing::SampleExplanation());
        }) {}
  ~Answerer() { Join(); }
  void Join() {
    if (thread_.joinable()) thread_.join();
  }

  SocketAddr address;
  BootTime time;

 private:
  std::thread thread_;
};

TEST_F(ServerTest, ExplainAddressIsAnsweredByTheCore) {
  Answerer core(server_.questions());
  pb::ExplainAddressRequest request;
  request.set_address("10.1.0.1:8080");
  request.mutable_time()->set_seconds(1795978744);
  pb::AddressExplanation out;
  ASSERT_TRUE(stub_->ExplainAddress(&context_, request, &out).ok());
  core.Join();
  EXPECT_EQ(core.address, (SocketAddr{IpAddr::V4(10, 1, 0, 1), 8080}));
  EXPECT_EQ(core.time, testing::At(4));
  pb::AddressExplanation expected;
  const Report report = testing::SampleReport();
  ReportEncoder(report).Encode(testing::SampleExplanation(), &expected);
  EXPECT_TRUE(MessageDifferencer::Equals(out, expected)) << out.DebugString();
}

TEST_F(ServerTest, ExplainAddressWithoutPortOrTimeAsksForAnyPortNow) {
  Answerer core(server_.questions());
  pb::ExplainAddressRequest request;
  request.set_address("fd00::1");
  pb::AddressExplanation out;
  ASSERT_TRUE(stub_->ExplainAddress(&context_, request, &out).ok());
  core.Join();
  EXPECT_EQ(core.address.ip.ToString(), "fd00::1");
  EXPECT_EQ(core.address.port, 0);
  EXPECT_FALSE(core.time.is_set());
}

TEST_F(ServerTest, ExplainAddressNamesABadAddress) {
  pb::ExplainAddressRequest request;
  request.set_address("catalog:8080");
  pb::AddressExplanation out;
  const grpc::Status status = stub_->ExplainAddress(&context_, request, &out);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "address: \"catalog:8080\" is neither an IP address nor IP:PORT");
}

TEST_F(ServerTest, ExplainAddressOfWhatMayBeMeantInTwoWaysTellsHowToWriteEach) {
  const struct {
    std::string address;
    std::string sentence;
  } kCases[] = {
      {"::1:80",
       "address: \"::1:80\" may be an address or one with a port: write [::1:80] or [::1]:80"},
      {"fd00::1:2:3",
       "address: \"fd00::1:2:3\" may be an address or one with a port: write [fd00::1:2:3] or "
       "[fd00::1:2]:3"},
      {"[10.0.0.1]", "address: \"[10.0.0.1]\" is neither an IP address nor IP:PORT"},
      {"[]", "address: \"[]\" is neither an IP address nor IP:PORT"},
  };
  for (const auto& c : kCases) {
    grpc::ClientContext context;
    GiveUpAfterTwentySeconds(&context);
    pb::ExplainAddressRequest request;
    request.set_address(c.address);
    pb::AddressExplanation out;
    const grpc::Status status = stub_->ExplainAddress(&context, request, &out);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(status.error_message(), c.sentence);
  }
}

TEST_F(ServerTest, ExplainAddressTakesEveryUnambiguousWayToWriteIt) {
  const struct {
    std::string text;
    std::string asked;
  } kCases[] = {
      {"[::1]", "[::1]:0"},
      {"::1", "[::1]:0"},
      {"[::1:80]", "[::1:80]:0"},
      {"[::1]:80", "[::1]:80"},
      {"fd00::a", "[fd00::a]:0"},
      {"fd00::12", "[fd00::12]:0"},
      {"1:2:3:4:5:6:7:8", "[1:2:3:4:5:6:7:8]:0"},
  };
  for (const auto& c : kCases) {
    std::thread core([&] {
      auto question = server_.questions().Take(std::chrono::seconds(20));
      ASSERT_TRUE(question.has_value()) << c.text;
      EXPECT_EQ((*question)->address, *SocketAddr::Parse(c.asked)) << c.text;
      (*question)->answer.set_value(testing::SampleExplanation());
    });
    grpc::ClientContext context;
    GiveUpAfterTwentySeconds(&context);
    pb::ExplainAddressRequest request;
    request.set_address(c.text);
    pb::AddressExplanation out;
    const grpc::Status status = stub_->ExplainAddress(&context, request, &out);
    EXPECT_TRUE(status.ok()) << c.text << ": " << status.error_message();
    if (!status.ok()) server_.questions().Close();
    core.join();
  }
}

TEST_F(ServerTest, ExplainAddressRefusesTimesThatNoClockHolds) {
  pb::ExplainAddressRequest request;
  request.set_address("10.1.0.1");
  request.mutable_time()->set_seconds(253402300799);  // the year 9999
  pb::AddressExplanation out;
  const grpc::Status status = stub_->ExplainAddress(&context_, request, &out);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "time: lies beyond the years 1678 to 2262");
}

TEST_F(ServerTest, ExplainAddressSaysWhenTheAgentStopsBeforeItAnswers) {
  std::thread core([this] { server_.questions().Take(std::chrono::seconds(20)).reset(); });
  pb::ExplainAddressRequest request;
  request.set_address("10.1.0.1");
  pb::AddressExplanation out;
  const grpc::Status status = stub_->ExplainAddress(&context_, request, &out);
  core.join();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the agent is stopping");

  server_.questions().Close();
  grpc::ClientContext later;
  GiveUpAfterTwentySeconds(&later);
  EXPECT_EQ(stub_->ExplainAddress(&later, request, &out).error_message(), "the agent is stopping");
}

TEST(ExplainDeadlineTest, CoreThatDoesNotAnswerInTimeIsReportedAndThenTheMailboxIsFull) {
  TestServer server({.questions = 1, .explain_deadline = std::chrono::milliseconds(1)});
  const auto stub = server.NewStub();
  pb::ExplainAddressRequest request;
  request.set_address("10.1.0.1");
  for (const auto expected :
       {grpc::StatusCode::DEADLINE_EXCEEDED, grpc::StatusCode::RESOURCE_EXHAUSTED}) {
    grpc::ClientContext context;
    GiveUpAfterTwentySeconds(&context);
    pb::AddressExplanation out;
    EXPECT_EQ(stub->ExplainAddress(&context, request, &out).error_code(), expected);
  }
}

// One call of a method whose messages this program has no code for.
std::string CallRaw(const std::string& address, const std::string& method,
                    const std::string& request) {
  grpc::GenericStub stub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  GiveUpAfterTwentySeconds(&context);
  grpc::CompletionQueue queue;
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, method, &queue);
  call->StartCall(nullptr);
  EXPECT_TRUE(wait()) << method;
  const grpc::Slice slice(request);
  call->WriteLast(grpc::ByteBuffer(&slice, 1), grpc::WriteOptions(), nullptr);
  EXPECT_TRUE(wait()) << method;
  grpc::ByteBuffer response;
  call->Read(&response, nullptr);
  EXPECT_TRUE(wait()) << method;
  grpc::Status status;
  call->Finish(&status, nullptr);
  EXPECT_TRUE(wait()) << method;
  EXPECT_TRUE(status.ok()) << method << ": " << status.error_message();
  std::vector<grpc::Slice> slices;
  std::string out;
  if (response.Dump(&slices).ok()) {
    for (const grpc::Slice& s : slices) {
      out.append(reinterpret_cast<const char*>(s.begin()), s.size());
    }
  }
  return out;
}

// Client and server share this process, and with it the libraries' log.
TEST_F(ServerTest, RequestThatIsNoTextIsRefusedWithoutNoise) {
  pb::ListConnectionsRequest request;
  request.set_filter("proxy=\xff");
  pb::ListConnectionsResponse out;
  ::testing::internal::CaptureStderr();
  const grpc::Status status = stub_->ListConnections(&context_, request, &out);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
}

TEST_F(ServerTest, StandardHealthServiceSaysServing) {
  // HealthCheckRequest{service: ""}; HealthCheckResponse{status: SERVING}.
  EXPECT_EQ(CallRaw(server_.address(), "/grpc.health.v1.Health/Check", ""), "\x08\x01");
  // The agent's own service by name: field 1.
  EXPECT_EQ(CallRaw(server_.address(), "/grpc.health.v1.Health/Check",
                    "\x0a\x19phantom.v1.PhantomService"),
            "\x08\x01");
}

TEST_F(ServerTest, ReflectionListsTheService) {
  // ServerReflectionRequest{list_services: ""}: field 7.
  const std::string response =
      CallRaw(server_.address(), "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
              std::string("\x3a\x00", 2));
  EXPECT_NE(response.find("phantom.v1.PhantomService"), std::string::npos);
}

}  // namespace
}  // namespace phantomd
