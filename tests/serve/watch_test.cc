#include <gtest/gtest.h>

#include <algorithm>

#include "tests/serve/test_server.h"
#include "tests/wire/sample_report.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using testing::GiveUpAfterTwentySeconds;
using testing::TestServer;

constexpr uint64_t kFirstCookie = 9000;  // SampleConnection(n) has the cookie 9000 + n

// A report whose ring holds first..last.
Report RingOf(uint64_t first, uint64_t last, const std::string& cluster = "catalog") {
  std::vector<Connection> connections;
  for (uint64_t i = first; i <= last; ++i) {
    connections.push_back(testing::SampleConnection(i));
    connections.back().cluster = cluster;
    if (i % 2 == 0) connections.back().layer = Layer::kL7;
  }
  Report out = testing::SampleReport();
  out.connections = testing::Chunks(connections, 64);
  return out;
}

class WatchTest : public ::testing::Test {
 protected:
  WatchTest() { GiveUpAfterTwentySeconds(&context_); }

  // Once the metadata is there, the server has noted where this reader begins.
  void Watch(const std::string& filter = "") {
    pb::WatchConnectionsRequest request;
    request.set_filter(filter);
    reader_ = stub_->WatchConnections(&context_, request);
    reader_->WaitForInitialMetadata();
  }

  // The next event: the number of a connection, or minus the number of those missed.
  int64_t Next() {
    pb::WatchConnectionsResponse event;
    if (!reader_->Read(&event)) return 0;
    return event.has_connection()
               ? static_cast<int64_t>(event.connection().socket_cookie() - kFirstCookie)
               : -static_cast<int64_t>(event.missed());
  }

  TestServer server_;
  std::unique_ptr<pb::PhantomService::Stub> stub_ = server_.NewStub();
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<pb::WatchConnectionsResponse>> reader_;
};

TEST_F(WatchTest, SeesWhatIsJudgedFromThenOnOldestFirst) {
  server_.Publish(RingOf(1, 3));
  Watch();
  server_.Publish(RingOf(1, 5));
  EXPECT_EQ(Next(), 4);
  EXPECT_EQ(Next(), 5);
  server_.Publish(RingOf(1, 6));
  EXPECT_EQ(Next(), 6);
}

TEST_F(WatchTest, FilterLeavesOutTheOthers) {
  server_.Publish(RingOf(1, 1));
  Watch("layer=L4");
  server_.Publish(RingOf(1, 5));
  EXPECT_EQ(Next(), 3);
  EXPECT_EQ(Next(), 5);
}

TEST_F(WatchTest, BadFilterIsInvalid) {
  Watch("layer=L8");
  EXPECT_EQ(Next(), 0);
  EXPECT_EQ(reader_->Finish().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
}

TEST_F(WatchTest, ReaderIsToldHowManyLeftTheRingUnseen) {
  server_.Publish(RingOf(1, 3));
  Watch();
  server_.Publish(RingOf(100, 101));
  EXPECT_EQ(Next(), -96);
  EXPECT_EQ(Next(), 100);
  EXPECT_EQ(Next(), 101);
}

// 20 MB go by while nobody reads: more than sockets and windows hold, so most of it leaves the ring
// before it can be sent. Every connection is either seen or counted as missed, and nothing else
// waits meanwhile.
TEST_F(WatchTest, SlowReaderSeesOrMissesEveryConnectionOnce) {
  constexpr uint64_t kLast = 20'000, kRing = 500, kStep = 100;
  const std::string large(1000, 'c');
  server_.Publish(RingOf(1, 1));
  Watch();
  for (uint64_t last = kStep; last <= kLast; last += kStep) {
    server_.Publish(RingOf(last < kRing ? 1 : last - kRing + 1, last, large));
  }
  grpc::ClientContext other;
  GiveUpAfterTwentySeconds(&other);
  pb::Status status;
  EXPECT_TRUE(stub_->GetStatus(&other, {}, &status).ok());

  int64_t at = 1, missed = 0;
  while (at < static_cast<int64_t>(kLast)) {
    const int64_t event = Next();
    ASSERT_NE(event, 0) << "the stream ended at " << at;
    if (event < 0) {
      missed -= event;
      at -= event;
    } else {
      ASSERT_EQ(event, at + 1);
      at = event;
    }
  }
  EXPECT_GT(missed, 0);
}

TEST_F(WatchTest, StoppingTheServerEndsTheStream) {
  Watch();
  server_.Stop();
  EXPECT_EQ(Next(), 0);
  const grpc::Status status = reader_->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(status.error_message(), "the agent is stopping");
}

}  // namespace
}  // namespace phantomd
