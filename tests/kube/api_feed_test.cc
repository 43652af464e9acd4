// A feed over real connections to a server that does what the test says.
#include "agent/kube/api_feed.h"

#include <atomic>
#include <chrono>
#include <string>

#include "gmock/gmock.h"
#include "tests/kube/api_feed_fixture.h"

namespace phantomd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace testing::api;
using End = FakeApiAnswer::End;

TEST_F(ApiFeedTest, ListsAndWatches) {
  Start(Ordinary);
  ASSERT_TRUE(UntilTold("synced"));
  EXPECT_THAT(told_, ElementsAre("u1", "synced"));
  server_->Push(Added(2, 11) + Deleted(1, 12).substr(0, 9));
  ASSERT_TRUE(UntilTold("u2"));
  server_->Push(Deleted(1, 12).substr(9));
  ASSERT_TRUE(UntilTold("-u1"));
  EXPECT_TRUE(feed_->stats().synced);
  EXPECT_EQ(feed_->stats().objects, 1u);
  EXPECT_EQ(feed_->stats().last_error, "");
}

TEST_F(ApiFeedTest, SaysWhoItIsAndWhatItReads) {
  Start(Ordinary);
  access_.answer = KubeEndpoint{.server = server_->url(), .token = Secret("open sesame")};
  ASSERT_TRUE(UntilTold("synced"));
  const std::string head = server_->asked().front().head;
  EXPECT_THAT(head, HasSubstr("Authorization: Bearer open sesame\r\n"));
  EXPECT_THAT(head, HasSubstr("Accept: application/vnd.kubernetes.protobuf, application/json\r\n"));
  EXPECT_THAT(head, HasSubstr("User-Agent: phantomd/"));
}

TEST_F(ApiFeedTest, ARefusedTokenIsReadAgainAtOnce) {
  Start([](const FakeApiRequest& request) {
    const bool fresh = request.head.find("Bearer fresh") != std::string::npos;
    return fresh ? Ordinary(request)
                 : FakeApiAnswer::Json(401, Status(401, "Unauthorized", "Unauthorized"));
  });
  access_.answer = KubeEndpoint{.server = server_->url(), .token = Secret("stale")};
  ASSERT_TRUE(Until([&] { return !feed_->stats().last_error.empty(); }));
  EXPECT_THAT(feed_->stats().last_error, HasSubstr("HTTP status 401: Unauthorized"));
  EXPECT_THAT(feed_->stats().last_error, Not(HasSubstr("stale")));
  access_.answer = KubeEndpoint{.server = server_->url(), .token = Secret("fresh")};
  ASSERT_TRUE(UntilTold("synced"));
  EXPECT_EQ(access_.refused, 1);
}

TEST_F(ApiFeedTest, WaitsForAnAccessAndNamesWhatIsMissing) {
  Start(Ordinary);
  const auto known = access_.answer;
  access_.answer = std::optional<KubeEndpoint>();  // an exec plugin runs
  int steps = 0;
  ASSERT_TRUE(Until([&] { return ++steps > 20; }));
  EXPECT_THAT(server_->asked(), IsEmpty());
  access_.answer = absl::NotFoundError("/var/token: no such file");
  ASSERT_TRUE(Until([&] { return !feed_->stats().last_error.empty(); }));
  EXPECT_EQ(feed_->stats().last_error, "pods by test: /var/token: no such file");
  access_.answer = known;
  ASSERT_TRUE(UntilTold("synced"));
}

TEST_F(ApiFeedTest, AServerThatStandsStillBreaksTheFeedUntilItGoesOn) {
  Start(Ordinary, Probing());
  ASSERT_TRUE(UntilTold("synced"));
  ASSERT_TRUE(Until([&] { return Asked(IsProbe) >= 2; }));
  server_->Stop();
  ASSERT_TRUE(UntilTold("broken"));
  EXPECT_FALSE(feed_->stats().synced);
  server_->Push(Added(2, 11));
  server_->Resume();
  ASSERT_TRUE(UntilTold("synced"));
  EXPECT_THAT(told_, Contains("u2"));
  EXPECT_EQ(Asked(IsWatch), 1);
}

TEST_F(ApiFeedTest, AServerThatNeverGoesOnIsLeft) {
  ApiFeedOptions options = Probing();
  options.patience = std::chrono::milliseconds(500);
  std::atomic<bool> deaf = false;
  Start(
      [&](const FakeApiRequest& request) {
        FakeApiAnswer answer = Ordinary(request);
        if (IsProbe(request) && deaf) answer = {"", End::kOpen};
        return answer;
      },
      options);
  ASSERT_TRUE(UntilTold("synced"));
  deaf = true;
  ASSERT_TRUE(Until([&] { return Asked(IsWatch) >= 2; }));
  EXPECT_THAT(feed_->stats().last_error, HasSubstr("pods by test: the server has not answered"));
  deaf = false;
  ASSERT_TRUE(UntilTold("synced"));
}

// Something in between that answers in the server's place proves nothing about it.
TEST_F(ApiFeedTest, AGatewaysErrorIsNoSignOfLife) {
  std::atomic<int> status = 200;
  Start(
      [&](const FakeApiRequest& request) {
        return IsProbe(request) ? FakeApiAnswer::Json(status, "") : Ordinary(request);
      },
      Probing());
  ASSERT_TRUE(UntilTold("synced"));
  for (const int broken : {502, 503, 504}) {
    status = broken;
    ASSERT_TRUE(UntilTold("broken")) << broken;
    status = 403;  // the server itself, though it does not like the question
    ASSERT_TRUE(UntilTold("synced")) << broken;
  }
}

TEST_F(ApiFeedTest, AWatchThatBreaksGoesOnWhereItWas) {
  Start(Ordinary);
  ASSERT_TRUE(UntilTold("synced"));
  server_->Push(Added(2, 11));
  ASSERT_TRUE(UntilTold("u2"));
  server_->EndOpen(End::kReset);
  ASSERT_TRUE(UntilTold("broken"));
  ASSERT_TRUE(UntilTold("synced"));
  EXPECT_EQ(Asked(IsWatch), 2);
  EXPECT_THAT(server_->asked(),
              Contains(::testing::Field(&FakeApiRequest::path, HasSubstr("resourceVersion=11"))));
  EXPECT_EQ(feed_->stats().relists, 0u);
}

TEST_F(ApiFeedTest, AWatchThatEndsWellGoesOnWithoutABreak) {
  Start(Ordinary);
  ASSERT_TRUE(UntilTold("synced"));
  // A watch that ends as soon as it began is not asked again at once.
  const auto later = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  ASSERT_TRUE(Until([&] { return std::chrono::steady_clock::now() > later; }));
  server_->EndOpen(End::kClose);
  ASSERT_TRUE(Until([&] { return Asked(IsWatch) == 2; }));
  EXPECT_THAT(told_, ElementsAre("u1", "synced"));
}

TEST_F(ApiFeedTest, NobodyThereIsNamed) {
  access_.answer = KubeEndpoint{.server = "http://127.0.0.1:1"};
  Follow();
  ASSERT_TRUE(Until([&] { return !feed_->stats().last_error.empty(); }));
  EXPECT_THAT(feed_->stats().last_error, HasSubstr("127.0.0.1 port 1"));
  EXPECT_THAT(told_, IsEmpty());
}

// Whatever part of an answer comes: the feed claims nothing that it does not know.
TEST_F(ApiFeedTest, AnAnswerCutAtAnyByteIsNoList) {
  const std::string whole = FakeApiAnswer::Json(200, List(10, Pod(1, 5) + "," + Pod(2, 6))).bytes;
  std::atomic<size_t> length = 0;
  Start([&](const FakeApiRequest&) {
    return FakeApiAnswer{whole.substr(0, length), length % 2 == 0 ? End::kClose : End::kReset};
  });
  for (; length < whole.size(); ++length) {
    told_.clear();
    Follow();
    ASSERT_TRUE(Until([&] { return !feed_->stats().last_error.empty(); })) << length;
    EXPECT_FALSE(feed_->stats().synced) << length;
    EXPECT_THAT(told_, Not(Contains("synced"))) << length;
  }
  Start(Ordinary);
  ASSERT_TRUE(UntilTold("synced"));
}

TEST_F(ApiFeedTest, AServerThatAsksForTimeGetsIt) {
  Start([](const FakeApiRequest&) {
    return FakeApiAnswer::Json(429, Status(429, "TooManyRequests", "later"), "Retry-After: 7\r\n");
  });
  ASSERT_TRUE(Until([&] { return !feed_->stats().last_error.empty(); }));
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1200);
  ASSERT_TRUE(Until([&] { return std::chrono::steady_clock::now() > end; }));
  EXPECT_EQ(server_->asked().size(), 1u);
}

TEST_F(ApiFeedTest, OneFeedForEachKind) {
  const auto cluster = ApiFeeds("", std::chrono::seconds(1), access_, clock_, {});
  Words sources;
  for (const auto& feed : cluster) sources.push_back(feed->stats().source);
  EXPECT_THAT(sources, ElementsAre("pods by test", "endpointslices by test", "nodes by test"));
  const auto own = ApiFeeds("node-a", std::chrono::seconds(1), access_, clock_, {});
  EXPECT_EQ(own[0]->stats().source, "pods with spec.nodeName=node-a by test");
}

TEST_F(ApiFeedTest, TellsTheSocketThatBringsNews) {
  Start(Ordinary);
  ASSERT_TRUE(UntilTold("synced"));
  Waits waits;
  feed_->AddWaits(waits);
  ASSERT_FALSE(waits.sockets.empty());
  EXPECT_EQ(poll(waits.sockets.data(), waits.sockets.size(), 0), 0) << "nothing has come yet";
  server_->Push(Added(2, 11));
  EXPECT_GE(poll(waits.sockets.data(), waits.sockets.size(), 60'000), 1);
  ASSERT_TRUE(UntilTold("u2"));
}

TEST_F(ApiFeedTest, EachFeedInheritsItsKind) {
  InheritedFeeds before;
  for (const char* uid : {"u1", "u9"}) {
    before.Learn({BootTime::FromNanos(5), PodChange{.pod = {.uid = PodUid(uid)}}});
  }
  before.Learn({BootTime::FromNanos(6), NodeChange{.name = "n1"}});
  before.Learn({BootTime::FromNanos(7), FeedChange{Feed::kPods, FeedState::kSynced, {}}});
  before.Break(Nanos(0));
  // Nobody can be asked yet.
  auto feeds = ApiFeeds("", std::chrono::seconds(1), access_, clock_, std::move(before));
  std::vector<uint64_t> objects;
  for (const auto& feed : feeds) {
    std::vector<Input> told;
    feed->Step(told);
    EXPECT_THAT(told, IsEmpty());
    objects.push_back(feed->stats().objects);
  }
  EXPECT_THAT(objects, ElementsAre(2u, 0u, 1u));
}

}  // namespace
}  // namespace phantomd
