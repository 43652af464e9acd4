#include "agent/kube/list_watch.h"

#include "gmock/gmock.h"
#include "tests/kube/api_json.h"
#include "tests/kube/feed_fixture.h"
#include "tests/kube/pb_writer.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace testing::api;

using Words = std::vector<std::string>;

constexpr char kJsonType[] = "application/json";
constexpr char kPbType[] = "application/vnd.kubernetes.protobuf;stream=watch";
constexpr char kWatchList[] =
    "/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&sendInitialEvents=true"
    "&resourceVersionMatch=NotOlderThan";
constexpr char kWatch[] =
    "/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=";

// One ListWatch; times are in milliseconds. Each step gives what was told as words ("u1", "-u1@7",
// "synced", "broken@7", "lost pod_event").
class ListWatchTest : public ::testing::Test {
 protected:
  void Start(ListWatchOptions options = {}) {
    feed_.emplace(std::move(options), "pods of api", [this] { return random_; });
  }
  static BootTime At(int64_t ms) { return BootTime::FromNanos(ms * 1'000'000); }

  // The request's path; "": none yet.
  std::string Ask(int64_t ms) {
    const std::optional<ApiRequest> request = feed_->TakeRequest(At(ms));
    if (!request) return "";
    last_ = *request;
    return request->path;
  }
  Words Head(int64_t ms, int status, const std::string& type = kJsonType, Nanos retry_after = {}) {
    std::vector<Input> out;
    going_ = feed_->OnHead(
        At(ms), {.status = status, .content_type = type, .retry_after = retry_after}, out);
    return testing::Words(out);
  }
  Words Body(int64_t ms, const std::string& bytes) {
    std::vector<Input> out;
    going_ = feed_->OnBody(At(ms), bytes, out);
    return testing::Words(out);
  }
  Words End(int64_t ms, const std::string& trouble = "") {
    std::vector<Input> out;
    feed_->OnEnd(At(ms), trouble, out);
    return testing::Words(out);
  }
  Words Tick(int64_t ms) {
    std::vector<Input> out;
    going_ = feed_->Tick(At(ms), out);
    return testing::Words(out);
  }
  Words Probe(int64_t ms, bool answered) {
    std::vector<Input> out;
    feed_->OnProbe(At(ms), answered, out);
    return testing::Words(out);
  }
  // A whole answer of a refusal.
  Words Refuse(int64_t ms, int status, const std::string& body = "", Nanos retry_after = {}) {
    EXPECT_THAT(Head(ms, status, kJsonType, retry_after), IsEmpty());
    EXPECT_THAT(Body(ms, body), IsEmpty());
    return End(ms);
  }
  // Pods 1, 2 and 3, the watch runs from version 100 and was last alive at second 10.
  void Sync(ListWatchOptions options = {}) {
    Start(std::move(options));
    EXPECT_EQ(Ask(1000), kWatchList);
    Head(1100, 200);
    EXPECT_THAT(Body(1200, Added(1, 7) + Added(2, 5) + Added(3, 6) + Bookmark(100, true)),
                ElementsAre("u1", "u2", "u3"));
    EXPECT_THAT(Tick(2200), ElementsAre("synced"));
    EXPECT_THAT(Body(10'000, Bookmark(100)), IsEmpty());
  }
  const FeedStats& Stats() const { return feed_->stats(); }

  std::optional<ListWatch> feed_;
  std::vector<Input> ignored_;
  ApiRequest last_;
  bool going_ = true;
  double random_ = 0;
};

TEST_F(ListWatchTest, WatchListThenTheSameWatch) {
  Start();
  EXPECT_EQ(Ask(1000), kWatchList);
  EXPECT_EQ(last_.accept, "application/vnd.kubernetes.protobuf, application/json");
  EXPECT_FALSE(last_.fresh_token);
  EXPECT_EQ(Ask(1000), "");  // one at a time
  EXPECT_THAT(Head(1100, 200), IsEmpty());
  EXPECT_THAT(Body(1200, Added(1, 7) + Added(2, 5)), ElementsAre("u1", "u2"));
  EXPECT_THAT(Tick(3000), IsEmpty());
  EXPECT_FALSE(Stats().synced);
  EXPECT_THAT(Body(3100, Bookmark(100, true)), IsEmpty());
  EXPECT_TRUE(feed_->watching());
  EXPECT_THAT(Body(3200, Deleted(2, 101)), ElementsAre("-u2"));
  EXPECT_THAT(Tick(4099), IsEmpty());
  EXPECT_THAT(Tick(4100), ElementsAre("synced"));
  EXPECT_EQ(Stats().objects, 1u);
  EXPECT_EQ(Stats().relists, 0u);
  EXPECT_EQ(Stats().waiting, "");
}

TEST_F(ListWatchTest, WatchThatEndsWellGoesOnFromItsLastVersion) {
  Sync();
  EXPECT_THAT(Body(11'000, Added(4, 103) + Bookmark(110)), ElementsAre("u4"));
  EXPECT_THAT(End(300'000), IsEmpty());
  EXPECT_EQ(Ask(300'000), std::string(kWatch) + "110");
  EXPECT_THAT(Tick(300'999), IsEmpty());
  EXPECT_THAT(Head(300'999, 200), IsEmpty());
  EXPECT_THAT(Tick(400'000), IsEmpty());
  EXPECT_TRUE(Stats().synced);
}

TEST_F(ListWatchTest, NextWatchThatIsNotAnsweredBreaksTheFeed) {
  Sync();
  End(300'000);
  EXPECT_NE(Ask(300'000), "");
  EXPECT_THAT(Tick(301'000), ElementsAre("broken@300"));
  EXPECT_THAT(Head(302'000, 200), IsEmpty());
  EXPECT_THAT(Body(302'100, Deleted(1, 101)), ElementsAre("-u1@300"));  // of the gap
  EXPECT_THAT(Tick(303'000), ElementsAre("synced"));
  EXPECT_THAT(Body(303'100, Deleted(2, 102)), ElementsAre("-u2"));
}

TEST_F(ListWatchTest, ServerWithoutWatchListsGetsAListAndAWatch) {
  for (const int status : {400, 422}) {
    Start();
    EXPECT_EQ(Ask(1000), kWatchList);
    EXPECT_THAT(Refuse(1100, status, Status(status, "Invalid", "sendInitialEvents is forbidden")),
                IsEmpty());
    EXPECT_EQ(Ask(1100), "/api/v1/pods?resourceVersion=0");
    Head(1200, 200);
    EXPECT_THAT(Body(1300, List(100, Pod(1, 7) + "," + Pod(2, 8))), IsEmpty());
    EXPECT_THAT(End(1400), ElementsAre("u1", "u2"));
    EXPECT_EQ(Ask(1400), std::string(kWatch) + "100");
    EXPECT_THAT(Tick(2500), IsEmpty());  // the watch does not run yet
    EXPECT_THAT(Head(2600, 200), IsEmpty());
    EXPECT_THAT(Tick(3600), ElementsAre("synced"));
    // Nor is it asked for one when the list has to be read again.
    Body(4000, Event("ERROR", Status(410, "Expired", "too old")));
    EXPECT_FALSE(going_);
    End(4000);
    EXPECT_EQ(Ask(4800), "/api/v1/pods?resourceVersion=100");
  }
}

TEST_F(ListWatchTest, ServerThatDoesNotEndTheFirstEventsKnowsNoWatchList) {
  Start();
  Ask(1000);
  Head(1100, 200);
  EXPECT_THAT(Body(1200, Added(1, 7)), ElementsAre("u1"));
  EXPECT_THAT(End(301'000), IsEmpty());
  EXPECT_EQ(Stats().last_error, "pods of api: the first events had no end");
  EXPECT_EQ(Ask(301'800), "/api/v1/pods?resourceVersion=0");
}

TEST_F(ListWatchTest, WhoFollowsOnAnotherListsFromEtcdForACacheMayBeBehindIt) {
  Start();
  feed_->Inherit({.existing = {PodChange{.pod = {.uid = PodUid("u9")}}}, .good_until = At(1'000)});
  EXPECT_EQ(Ask(1000), kWatchList) << "which is from etcd without a version";
  Refuse(1100, 400, Status(400, "Invalid", "sendInitialEvents is forbidden"));
  EXPECT_EQ(Ask(1100), "/api/v1/pods");
  Head(1200, 200);
  Body(1300, List(100, Pod(1, 7)));
  EXPECT_THAT(End(1400), ElementsAre("u1"));
  Ask(1400);
  Head(1500, 200);
  EXPECT_THAT(Tick(2500), ElementsAre("-u9@1", "synced"));
}

TEST_F(ListWatchTest, PagesAreOneList) {
  Start({.watch_list = false});
  EXPECT_EQ(Ask(1000), "/api/v1/pods?resourceVersion=0");
  Head(1000, 200);
  Body(1000, List(100, Pod(1, 7), "next/page=="));
  EXPECT_THAT(End(1000), ElementsAre("u1"));
  EXPECT_EQ(Ask(1000), "/api/v1/pods?continue=next%2Fpage%3D%3D");
  Head(1100, 200);
  Body(1100, List(100, Pod(2, 7)));
  EXPECT_THAT(End(1100), ElementsAre("u2"));
  EXPECT_EQ(Ask(1100), std::string(kWatch) + "100");
  Head(1200, 200);
  EXPECT_THAT(Tick(2200), ElementsAre("synced"));
  // The second page's token has expired: the list begins again, from etcd.
  Body(3000, Event("ERROR", Status(410, "Expired", "too old")));
  End(3000);
  EXPECT_EQ(Ask(3800), "/api/v1/pods?resourceVersion=100");
  Head(3900, 200);
  Body(3900, List(200, Pod(1, 7), "more"));
  End(3900);
  EXPECT_EQ(Ask(3900), "/api/v1/pods?continue=more");
  EXPECT_THAT(Refuse(4000, 410, Status(410, "Expired", "the token is too old")), IsEmpty());
  EXPECT_EQ(Ask(6000), "/api/v1/pods");
  Head(6100, 200);
  Body(6100, List(200, Pod(3, 7)));
  EXPECT_THAT(End(6100), ElementsAre("u3"));
  EXPECT_EQ(Ask(6100), std::string(kWatch) + "200");
  Head(6200, 200);
  EXPECT_THAT(Tick(7200), ElementsAre("-u1@1", "-u2@1", "synced"));
}

TEST_F(ListWatchTest, GoneAsStatusIsARelist) {
  Sync();
  EXPECT_THAT(End(12'000), IsEmpty());
  EXPECT_EQ(Ask(12'000), std::string(kWatch) + "100");
  EXPECT_THAT(Refuse(12'100, 410, Status(410, "Expired", "too old resource version")),
              ElementsAre("broken@12"));
  EXPECT_EQ(Stats().last_error,
            "pods of api: the server refused: HTTP status 410: Expired: too old resource version");
  EXPECT_EQ(Ask(12'899), "");
  EXPECT_EQ(Ask(12'900), std::string(kWatchList) + "&resourceVersion=100");
  Head(13'000, 200);
  EXPECT_THAT(Body(13'100, Added(2, 120) + Added(4, 110) + Bookmark(130, true)),
              ElementsAre("u2", "u4"));
  EXPECT_THAT(Tick(14'100), ElementsAre("-u1@12", "-u3@12", "synced"));
  EXPECT_EQ(Stats().relists, 1u);
}

TEST_F(ListWatchTest, GoneAsEventIsARelist) {
  Sync();
  EXPECT_THAT(Body(12'000, Deleted(1, 101) + Event("ERROR", Status(410, "Expired", "too old"))),
              ElementsAre("-u1", "broken@10"));
  EXPECT_FALSE(going_);
  EXPECT_THAT(End(12'000, "closed by us"), IsEmpty());
  EXPECT_EQ(Stats().last_error, "pods of api: the server ended the watch: Expired: too old");
  EXPECT_EQ(Ask(12'800), std::string(kWatchList) + "&resourceVersion=101");
}

TEST_F(ListWatchTest, BrokenWatchGoesOnWithoutAList) {
  Sync();
  EXPECT_THAT(End(12'000, "connection reset"), ElementsAre("broken@10"));
  EXPECT_EQ(Stats().last_error, "pods of api: connection reset");
  EXPECT_EQ(Ask(12'800), std::string(kWatch) + "100");
  Head(12'900, 200);
  EXPECT_THAT(Body(13'000, Added(4, 101)), ElementsAre("u4"));
  EXPECT_THAT(Tick(13'900), ElementsAre("synced"));
  EXPECT_EQ(Stats().relists, 0u);
  EXPECT_EQ(Stats().objects, 4u);
}

TEST_F(ListWatchTest, FailuresWaitLongerAndLonger) {
  Sync();
  int64_t now = 12'000;
  End(now, "reset");
  for (const int64_t wait : {800, 1600, 3200, 6400, 12'800, 25'600, 30'000, 30'000}) {
    EXPECT_EQ(Ask(now + wait - 1), "") << wait;
    EXPECT_EQ(Ask(now + wait), std::string(kWatch) + "100") << wait;
    now += wait;
    End(now, "refused");
  }
  random_ = 0.5;
  EXPECT_NE(Ask(now + 30'000), "");
  now += 30'000;
  End(now, "refused");
  EXPECT_EQ(Ask(now + 44'999), "");
  random_ = 0;
  EXPECT_NE(Ask(now + 45'000), "");
  now += 45'000;
  Head(now, 200);
  EXPECT_THAT(Tick(now + 1000), ElementsAre("synced"));
  End(now + 2000, "reset");  // it was well in between
  EXPECT_EQ(Ask(now + 2799), "");
  EXPECT_NE(Ask(now + 2800), "");
}

TEST_F(ListWatchTest, ServerThatAsksForTimeGetsIt) {
  const struct {
    int status;
    Nanos header;
    const char* body;
    int64_t wait;
  } cases[] = {
      {429, std::chrono::seconds(7), "", 7000},
      {503, std::chrono::seconds(2), "overloaded", 2000},
      {429, Nanos(0), R"({"kind":"Status","code":429,"details":{"retryAfterSeconds":3}})", 3000},
      {500, Nanos(0), "", 800},
  };
  for (const auto& c : cases) {
    Start();
    Ask(1000);
    Refuse(1000, c.status, c.body, c.header);
    EXPECT_THAT(Stats().last_error, HasSubstr(fmt::format("HTTP status {}", c.status)));
    EXPECT_EQ(Ask(1000 + c.wait - 1), "") << c.status;
    EXPECT_EQ(Ask(1000 + c.wait), kWatchList) << c.status;
  }
}

TEST_F(ListWatchTest, RefusedTokenIsTriedOnceMoreAtOnce) {
  Sync();
  End(12'000);
  EXPECT_NE(Ask(12'000), "");
  EXPECT_FALSE(last_.fresh_token);
  EXPECT_THAT(Refuse(12'100, 401, Status(401, "Unauthorized", "Unauthorized")), IsEmpty());
  EXPECT_EQ(Ask(12'100), std::string(kWatch) + "100");
  EXPECT_TRUE(last_.fresh_token);
  EXPECT_THAT(Refuse(12'200, 401, Status(401, "Unauthorized", "Unauthorized")),
              ElementsAre("broken@12"));
  EXPECT_EQ(Ask(12'300), "");
  EXPECT_NE(Ask(13'000), "");
  EXPECT_TRUE(last_.fresh_token);
  Head(13'100, 200);
  End(20'000);
  EXPECT_NE(Ask(20'000), "");
  EXPECT_FALSE(last_.fresh_token);
}

TEST_F(ListWatchTest, ServerWithoutProtobufIsAskedForJson) {
  for (const int status : {406, 415}) {
    Start();
    Ask(1000);
    EXPECT_THAT(Refuse(1100, status, "no"), IsEmpty());
    EXPECT_EQ(Ask(1100), kWatchList);
    EXPECT_EQ(last_.accept, "application/json");
    Refuse(1200, status, "no");
    EXPECT_EQ(Ask(1200), "");  // that was all that could be done
  }
}

TEST_F(ListWatchTest, VersionThatGoesBackInAWatchNeedsAListFromEtcd) {
  Sync();
  EXPECT_THAT(Body(12'000, Added(4, 101) + Added(5, 99)), ElementsAre("u4", "broken@10"));
  EXPECT_FALSE(going_);
  EXPECT_EQ(Stats().last_error,
            "pods of api: the server's resourceVersion went back from 101 to 99");
  End(12'000);
  EXPECT_EQ(Ask(12'800), "/api/v1/pods");
  Head(12'900, 200);
  Body(12'900, List(50, Pod(1, 7)));  // etcd was restored
  EXPECT_THAT(End(13'000), ElementsAre("u1"));
  EXPECT_EQ(Ask(13'000), std::string(kWatch) + "50");
  Head(13'100, 200);
  EXPECT_THAT(Tick(14'100), ElementsAre("-u2@10", "-u3@10", "-u4@10", "synced"));
}

TEST_F(ListWatchTest, ListThatIsOlderThanWhatIsKnownEndsNobody) {
  Sync();
  Body(12'000, Event("ERROR", Status(410, "Expired", "too old")));
  End(12'000);
  Ask(12'800);
  Head(12'900, 200);
  EXPECT_THAT(Body(12'900, Added(1, 7) + Bookmark(90, true)), ElementsAre("u1"));
  EXPECT_FALSE(going_);
  EXPECT_EQ(Stats().last_error,
            "pods of api: the server's resourceVersion went back from 100 to 90");
  End(12'900);
  EXPECT_EQ(Stats().objects, 3u);
  EXPECT_EQ(Ask(15'000), "/api/v1/pods");
}

TEST_F(ListWatchTest, ServerThatHasNotComeSoFarIsAskedForWhatIs) {
  Sync();
  End(12'000);
  Ask(12'000);
  EXPECT_THAT(Refuse(12'000, 504, Status(504, "Timeout", "Too large resource version: 100")),
              ElementsAre("broken@12"));
  EXPECT_EQ(Ask(12'800), "/api/v1/pods");
  // A proxy's 504 says nothing about versions.
  Sync();
  End(12'000);
  Ask(12'000);
  Refuse(12'000, 504, "Gateway Time-out");
  EXPECT_EQ(Ask(12'800), std::string(kWatch) + "100");
}

TEST_F(ListWatchTest, DuplicateEventIsNoTrouble) {
  Sync();
  EXPECT_THAT(Body(12'000, Added(4, 101) + Added(4, 101) + Deleted(4, 102) + Deleted(4, 102)),
              ElementsAre("u4", "u4", "-u4", "-u4"));
  EXPECT_TRUE(going_);
  EXPECT_EQ(Stats().objects, 3u);
}

TEST_F(ListWatchTest, EndlessBookmarksAreSignsOfLifeAndNoMore) {
  Sync();
  for (int i = 0; i < 10'000; ++i) {
    EXPECT_THAT(Body(12'000 + i, Bookmark(200 + i)), IsEmpty());
  }
  EXPECT_THAT(Tick(100'000), IsEmpty());
  EXPECT_EQ(Stats().objects, 3u);
  EXPECT_THAT(End(110'000, "reset"), ElementsAre("broken@21"));
  EXPECT_EQ(Ask(120'000), std::string(kWatch) + "10199");
}

TEST_F(ListWatchTest, UnansweredProbeBreaksTheFeedAtTheLastSignOfLife) {
  Sync();
  EXPECT_THAT(Probe(11'000, true), IsEmpty());
  EXPECT_THAT(Probe(12'000, true), IsEmpty());
  EXPECT_THAT(Probe(13'000, false), ElementsAre("broken@12"));
  EXPECT_THAT(Probe(14'000, false), IsEmpty());
  EXPECT_THAT(Probe(42'000, true), IsEmpty());
  EXPECT_THAT(Body(42'500, Deleted(1, 101)), ElementsAre("-u1@12"));  // held back for 30 s
  EXPECT_THAT(Tick(43'000), ElementsAre("synced"));
  EXPECT_THAT(Body(43'500, Deleted(2, 102)), ElementsAre("-u2"));
  EXPECT_EQ(Stats().relists, 0u);
}

TEST_F(ListWatchTest, ProbeThatIsNotAnsweredWhileItSettlesStopsThat) {
  Sync();
  Probe(13'000, false);
  Probe(14'000, true);
  Probe(14'500, false);
  EXPECT_THAT(Tick(15'000), IsEmpty());
  EXPECT_THAT(Probe(16'000, true), IsEmpty());
  EXPECT_THAT(Tick(17'000), ElementsAre("synced"));
}

TEST_F(ListWatchTest, BrokenFeedTellsWhatBrokeItNow) {
  Sync();
  End(11'000, "connection reset");
  EXPECT_EQ(Stats().waiting, "pods of api: connection reset");
  Ask(20'000);
  Head(20'000, 200);
  EXPECT_THAT(Tick(21'000), ElementsAre("synced"));
  EXPECT_EQ(Stats().waiting, "");
  EXPECT_THAT(Probe(22'000, false), ElementsAre("broken@20"));
  EXPECT_EQ(Stats().waiting, "pods of api: no answer from the server");
  Probe(23'000, true);
  EXPECT_THAT(Tick(24'000), ElementsAre("synced"));
  End(30'000);
  EXPECT_EQ(Ask(30'000), std::string(kWatch) + "100");
  EXPECT_THAT(Tick(31'000), ElementsAre("broken@30"));
  EXPECT_EQ(Stats().waiting, "pods of api: no watch since the last one ended");
}

TEST_F(ListWatchTest, SilentWatchWasBrokenFromItsLastEventOn) {
  Sync();
  for (int64_t ms = 11'000; ms < 130'000; ms += 1000) {
    EXPECT_THAT(Probe(ms, true), IsEmpty());
    EXPECT_THAT(Tick(ms), IsEmpty());
  }
  EXPECT_THAT(Tick(130'000), ElementsAre("lost pod_watch", "broken@10"));
  EXPECT_FALSE(going_);
  EXPECT_EQ(Stats().last_error, "pods of api: the watch is silent, even its bookmarks are missing");
  EXPECT_THAT(End(130'000), IsEmpty());
  EXPECT_EQ(Ask(130'800), std::string(kWatch) + "100");
}

TEST_F(ListWatchTest, AnswerThatStandsStillIsGivenUp) {
  Start();
  Ask(1000);
  Tick(30'999);
  EXPECT_TRUE(going_);
  Tick(31'000);
  EXPECT_FALSE(going_);
  EXPECT_FALSE(feed_->OnHead(At(31'000), {.status = 200}, ignored_));  // too late
  End(31'000);
  EXPECT_EQ(Ask(31'800), kWatchList);
  Head(31'900, 200);
  Body(40'000, Added(1, 7));
  Tick(69'999);
  EXPECT_TRUE(going_);
  Tick(70'000);
  EXPECT_FALSE(going_);
  EXPECT_EQ(Stats().last_error, "pods of api: the answer stands still");
}

TEST_F(ListWatchTest, ServerThatEndsEveryWatchAtOnceIsNotPressed) {
  Sync();
  End(12'000);
  Ask(12'000);
  Head(12'000, 200);
  EXPECT_THAT(End(12'100), IsEmpty());
  EXPECT_EQ(Ask(12'899), "");
  EXPECT_THAT(Tick(13'100), ElementsAre("broken@12"));
  EXPECT_NE(Ask(13'200), "");
}

TEST_F(ListWatchTest, EventThatCannotBeReadNeedsAList) {
  for (const std::string& unreadable :
       {Event("DELETED", R"({"kind":"Pod","metadata":{}})"), Event("SEEN", Pod(1, 101)),
        Event("ADDED", R"({"kind":"Node","metadata":{"name":"n"}})"),
        std::string("{\"type\":\"DELETED\"\n{")}) {
    Sync();
    EXPECT_THAT(Body(12'000, unreadable), ElementsAre("lost pod_event", "broken@10"));
    EXPECT_FALSE(going_);
    EXPECT_EQ(Stats().skipped, 1u);
    End(12'000);
    EXPECT_EQ(Ask(12'800), std::string(kWatchList) + "&resourceVersion=100");
  }
}

TEST_F(ListWatchTest, ObjectThatIsNotUnderstoodIsSkippedAndLives) {
  const std::string unclear =
      R"({"kind":"Pod","metadata":{"name":"p1","uid":"u1","namespace":"shop","resourceVersion":"101"},)"
      R"("status":{"podIP":"x"}})";
  Sync();
  EXPECT_THAT(Body(12'000, Event("MODIFIED", unclear)), ElementsAre("lost pod_event"));
  EXPECT_EQ(Stats().last_error,
            "pods of api: an event was skipped: pod shop/p1: status.podIP: not an IP address: "
            "\"x\"");
  EXPECT_TRUE(Stats().synced);
  EXPECT_EQ(Stats().objects, 3u);
  EXPECT_THAT(Body(13'000, Event("DELETED", unclear)), ElementsAre("lost pod_event", "-u1"));
}

TEST_F(ListWatchTest, FrameOverTheLimitIsNamed) {
  Start();
  Ask(1000);
  Head(1000, 200, kPbType);
  EXPECT_THAT(Body(1000, "\x7f\xff\xff\xff"), ElementsAre("lost pod_event"));
  EXPECT_FALSE(going_);
  EXPECT_EQ(Stats().last_error, "pods of api: a frame of 2147483647 bytes, more than 16777216");
}

TEST_F(ListWatchTest, RecordedWatchInProtobufCutAtEveryByte) {
  const std::string watch = testing::KubeData("pods.watch.pb");
  Start();
  Ask(1000);
  Head(1000, 200, kPbType);
  Words whole = Body(1000, watch);
  EXPECT_FALSE(going_);  // it ends with 410
  EXPECT_EQ(whole.size(), 14u);
  for (size_t cut = 0; cut < watch.size(); cut += 7) {
    Start();
    Ask(1000);
    Head(1000, 200, kPbType);
    Words words = Body(1000, watch.substr(0, cut));
    for (const std::string& word : Body(1000, watch.substr(cut))) words.push_back(word);
    EXPECT_EQ(words, whole) << cut;
  }
}

TEST_F(ListWatchTest, ListInProtobufCutAtEveryByteEndsNobody) {
  const std::string list = testing::KubeData("pods.list.pb");
  for (size_t cut = 0; cut < list.size() - 4; cut += 13) {
    Start({.watch_list = false});
    Ask(1000);
    Head(1000, 200, "application/vnd.kubernetes.protobuf");
    Body(1000, list.substr(0, cut));
    EXPECT_THAT(End(1000), IsEmpty());  // no trouble on the connection
    EXPECT_EQ(Stats().last_error, "pods of api: the list is cut short") << cut;
    EXPECT_EQ(Ask(1800), "/api/v1/pods?resourceVersion=0");
  }
}

TEST_F(ListWatchTest, RecordedListInProtobufWithItsNextPage) {
  Start({.watch_list = false});
  Ask(1000);
  Head(1000, 200, "application/vnd.kubernetes.protobuf");
  EXPECT_EQ(Body(1000, testing::KubeData("pods.list.pb")).size(), 14u);
  End(1000);
  EXPECT_EQ(Ask(1000), "/api/v1/pods?continue=next-page");
}

TEST_F(ListWatchTest, AnswerOfAnotherKindIsNamed) {
  const std::pair<std::string, const char*> bodies[] = {
      {R"({"kind":"NodeList","metadata":{"resourceVersion":"1"},"items":[]})",
       "a NodeList as a list of pods"},
      {R"({"kind":"PodList","metadata":{},"items":[]})", "the list has no resourceVersion"},
      {R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[7]})",
       "an item of the list is no object"},
      {R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{}]})",
       "pod /: metadata.uid: missing"},
      {"[]", "the list is no object"},
      {"", "the list is not JSON: "},
  };
  for (const auto& [body, sentence] : bodies) {
    Start({.watch_list = false});
    Ask(1000);
    Head(1000, 200);
    Body(1000, body);
    End(1000);
    EXPECT_THAT(Stats().last_error, HasSubstr(sentence));
    EXPECT_EQ(Ask(1000), "");
    EXPECT_FALSE(Stats().synced);
  }
  Start();
  Ask(1000);
  Head(1000, 200, "text/html; charset=utf-8");
  EXPECT_FALSE(going_);
  EXPECT_EQ(Stats().last_error, "pods of api: an answer of type \"text/html; charset=utf-8\"");
}

TEST_F(ListWatchTest, EmptyListOfGoIsNull) {
  Start({.watch_list = false});
  Ask(1000);
  Head(1000, 200);
  Body(1000, R"({"kind":"PodList","metadata":{"resourceVersion":"1"},"items":null})");
  EXPECT_THAT(End(1000), IsEmpty());
  EXPECT_EQ(Ask(1000), std::string(kWatch) + "1");
}

TEST_F(ListWatchTest, OtherKindsAndTheNodesOwnPods) {
  Start({.objects = {Feed::kSlices}, .watch_list = false});
  EXPECT_EQ(Ask(1), "/apis/discovery.k8s.io/v1/endpointslices?resourceVersion=0");
  Start({.objects = {Feed::kNodes}, .watch_list = false});
  EXPECT_EQ(Ask(1), "/api/v1/nodes?resourceVersion=0");
  Start({.objects = {Feed::kPods, "spec.nodeName=node-a"}, .watch_list = false});
  EXPECT_EQ(Ask(1), "/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dnode-a");
  random_ = 0.999;
  Start({.objects = {Feed::kPods, "spec.nodeName=node-a"}});
  EXPECT_EQ(Ask(1),
            "/api/v1/pods?watch=1&allowWatchBookmarks=true&timeoutSeconds=600&sendInitialEvents="
            "true&resourceVersionMatch=NotOlderThan&fieldSelector=spec.nodeName%3Dnode-a");
}

TEST_F(ListWatchTest, LongRefusalIsNotKept) {
  Start();
  Ask(1000);
  Head(1000, 500);
  for (int i = 0; i < 100; ++i) Body(1000, std::string(1 << 20, 'x'));
  End(1000);
  EXPECT_LT(Stats().last_error.size(), 400u);
}

TEST(BackoffTest, WaitsAreTwiceAsLongEachTimeAndNeverTheSame) {
  Backoff backoff;
  EXPECT_EQ(backoff.Next(Nanos(0), 0), Backoff::kFirst);
  EXPECT_EQ(backoff.Next(Nanos(0), 0.5), 3 * Backoff::kFirst);
  for (int i = 0; i < 10; ++i) backoff.Next(Nanos(0), 0);
  EXPECT_EQ(backoff.Next(Nanos(0), 0), Backoff::kLongest);
  EXPECT_EQ(backoff.Next(Nanos(0), 0.999), Nanos(59'970'000'000));
  // What the server asks for is the least.
  EXPECT_EQ(backoff.Next(std::chrono::minutes(1), 0.5), std::chrono::seconds(75));
  EXPECT_EQ(backoff.Next(std::chrono::seconds(1), 0), Backoff::kLongest);
  backoff.Reset();
  EXPECT_EQ(backoff.Next(Nanos(0), 0), Backoff::kFirst);
}

}  // namespace
}  // namespace phantomd
