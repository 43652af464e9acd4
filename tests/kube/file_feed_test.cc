#include "agent/kube/file_feed.h"

#include "gmock/gmock.h"
#include "tests/kube/feed_fixture.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::KubeData;
using testing::NodeLine;
using testing::PodLine;

class FileFeedTest : public testing::FeedFixture {
 protected:
  FileFeed Feed(const std::string& name) { return FileFeed({.path = PathOf(name)}, clock_); }
};

TEST_F(FileFeedTest, MissingFileIsNotSyncedAndSaid) {
  FileFeed feed = Feed("pods.json");
  EXPECT_THAT(News(feed), IsEmpty());
  EXPECT_EQ(feed.stats().feed, phantomd::Feed::kPods);
  EXPECT_FALSE(feed.stats().synced);
  EXPECT_THAT(feed.stats().waiting, HasSubstr("pods.json cannot be read: No such file"));
  Append("pods.json", PodLine("ADDED", 1));
  EXPECT_THAT(News(feed), ElementsAre("u1", "synced"));
  EXPECT_EQ(feed.stats().waiting, "");
}

TEST_F(FileFeedTest, SyncedWhenTheEndIsFirstReachedAndThenFollowed) {
  FileFeed feed = Feed("pods.json");
  Append("pods.json", PodLine("ADDED", 1) + PodLine("ADDED", 2));
  EXPECT_THAT(News(feed), ElementsAre("u1", "u2", "synced"));
  EXPECT_TRUE(feed.stats().synced);
  Append("pods.json", PodLine("ADDED", 1) + PodLine("MODIFIED", 2));
  EXPECT_THAT(News(feed), ElementsAre("u1", "u2"));  // ADDED of a known UID is an update
  Append("pods.json", PodLine("DELETED", 1) + PodLine("BOOKMARK", 2));
  EXPECT_THAT(News(feed), ElementsAre("-u1"));
  EXPECT_EQ(feed.stats().objects, 1u);
  EXPECT_EQ(feed.stats().events, 6u);
  EXPECT_EQ(feed.stats().skipped, 0u);
}

TEST_F(FileFeedTest, RecordedStreamsOfEveryKind) {
  const std::pair<const char*, size_t> cases[] = {
      {"pods.json", 14}, {"endpointslices.json", 5}, {"nodes.json", 1}};
  for (const auto& [name, changes] : cases) {
    FileFeed feed({.path = Write(name, KubeData(name))}, clock_);
    const std::vector<Input> inputs = Drain(feed);
    ASSERT_EQ(inputs.size(), changes + 1) << name;
    EXPECT_EQ(testing::Word(inputs.back()), "synced");
    EXPECT_EQ(feed.stats().skipped, 0u) << feed.stats().last_error;
  }
}

TEST_F(FileFeedTest, ObjectIsStampedWhenItIsComplete) {
  FileFeed feed = Feed("pods.json");
  const std::string line = PodLine("ADDED", 1);
  Append("pods.json", line.substr(0, 30));
  EXPECT_THAT(News(feed), IsEmpty());
  EXPECT_FALSE(feed.stats().synced);  // the list is not complete
  EXPECT_THAT(feed.stats().waiting, HasSubstr("pods.json:1: the object is not complete yet"));
  Wait(4);
  Append("pods.json", line.substr(30));
  const std::vector<Input> inputs = Drain(feed);
  EXPECT_THAT(testing::Words(inputs), ElementsAre("u1", "synced"));
  EXPECT_EQ(inputs[0].observed, BootTime::FromNanos(5'000'000'000));
  EXPECT_EQ(feed.stats().skipped, 0u);
}

TEST_F(FileFeedTest, FileCutAtEveryByteTellsTheSameInTheEnd) {
  const std::string whole = KubeData("nodes.json") + NodeLine("ADDED", "b");
  for (size_t cut = 0; cut <= whole.size(); ++cut) {
    const std::string name = fmt::format("nodes-{}", cut);
    FileFeed feed({.path = Write(name, whole.substr(0, cut))}, clock_);
    std::vector<std::string> news = News(feed);
    Append(name, whole.substr(cut));
    for (std::string& word : News(feed)) news.push_back(std::move(word));
    std::erase(news, "synced");
    ASSERT_THAT(news, ElementsAre("node-a", "b")) << cut;
    ASSERT_EQ(feed.stats().skipped, 0u) << cut << feed.stats().last_error;
    ASSERT_TRUE(feed.stats().synced);
  }
}

TEST_F(FileFeedTest, BrokenEventIsSkippedCountedAndNamedWithItsLine) {
  const struct {
    std::string broken;
    std::string sentence;
  } cases[] = {
      {"not JSON at all\n", "pods.json:2: an event was skipped: not the beginning of an object"},
      {"{\"type\":\"ADDED\"\n",
       "pods.json:2: an event was skipped: the object has no end before "
       "line 3"},
      {"{]}\n", "pods.json:2: an event was skipped: not JSON: "},
      {"{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\","
       "\"namespace\":"
       "\"n\"}}}\n",
       "pods.json:2: an event was skipped: pod n/x: metadata.uid: missing"},
      {NodeLine("ADDED", "n"), "pods.json:2: an event was skipped: a node in a file of pods"},
  };
  for (const auto& c : cases) {
    Write("pods.json", PodLine("ADDED", 1) + c.broken + PodLine("ADDED", 2));
    FileFeed feed = Feed("pods.json");
    EXPECT_THAT(News(feed), ElementsAre("u1", "lost pod_event", "u2", "synced")) << c.broken;
    EXPECT_EQ(feed.stats().skipped, 1u);
    EXPECT_THAT(feed.stats().last_error, HasSubstr(PathOf(c.sentence)));
  }
}

TEST_F(FileFeedTest, LineNumberIsThatOfTheObjectInPrettyPrintedText) {
  Write("nodes.json",
        KubeData("nodes.json") + "{\n    \"type\": \"ADDED\",\n    \"object\": 1\n}\n");
  FileFeed feed = Feed("nodes.json");
  Drain(feed);
  EXPECT_THAT(feed.stats().last_error,
              HasSubstr("nodes.json:64: an event was skipped: the ADDED event has no object"));
}

TEST_F(FileFeedTest, FirstObjectTellsTheKind) {
  FileFeed feed = Feed("feed.json");
  EXPECT_EQ(feed.stats().feed, phantomd::Feed::kUnspecified);
  Append("feed.json", "");
  EXPECT_THAT(News(feed), IsEmpty());  // whose feed would be synced?
  EXPECT_THAT(feed.stats().waiting,
              HasSubstr("holds no object yet, and its name says neither pod, slice nor node"));
  Append("feed.json", NodeLine("ADDED", "n"));
  EXPECT_THAT(News(feed), ElementsAre("n", "synced"));
  EXPECT_EQ(feed.stats().feed, phantomd::Feed::kNodes);
}

TEST_F(FileFeedTest, NameThatSaysOneKindIsAHint) {
  const std::pair<const char*, phantomd::Feed> cases[] = {
      {"pods.json", phantomd::Feed::kPods},
      {"EndpointSlices", phantomd::Feed::kSlices},
      {"all-nodes.ndjson", phantomd::Feed::kNodes},
      {"pods-of-node-a.json", phantomd::Feed::kUnspecified},
      {"feed.json", phantomd::Feed::kUnspecified},
  };
  for (const auto& [name, kind] : cases) EXPECT_EQ(Feed(name).stats().feed, kind) << name;
  EXPECT_EQ(FileFeed({.path = "/var/node-a/pods.json"}, clock_).stats().feed,
            phantomd::Feed::kPods);
}

TEST_F(FileFeedTest, EmptyFileIsSyncedByItsName) {
  Write("nodes.json", "");
  FileFeed feed = Feed("nodes.json");
  const std::vector<Input> inputs = Drain(feed);
  ASSERT_THAT(testing::Words(inputs), ElementsAre("synced"));
  EXPECT_EQ(std::get<FeedChange>(inputs[0].value).feed, phantomd::Feed::kNodes);
}

TEST_F(FileFeedTest, MisleadingNameIsTakenBack) {
  Write("pods.json", "");
  FileFeed feed = Feed("pods.json");
  EXPECT_THAT(News(feed), ElementsAre("synced"));
  Wait(1);
  Append("pods.json", NodeLine("ADDED", "n"));
  const std::vector<Input> inputs = Drain(feed);
  ASSERT_THAT(testing::Words(inputs), ElementsAre("broken@2", "n", "synced"));
  EXPECT_EQ(std::get<FeedChange>(inputs[0].value).feed, phantomd::Feed::kPods);
  EXPECT_EQ(std::get<FeedChange>(inputs[2].value).feed, phantomd::Feed::kNodes);
}

TEST_F(FileFeedTest, ReplacedFileIsAGapAndARepeatedList) {
  Write("pods.json", PodLine("ADDED", 1) + PodLine("ADDED", 2) + PodLine("ADDED", 3));
  FileFeed feed = Feed("pods.json");
  Drain(feed);
  Wait(6);
  EXPECT_THAT(News(feed), IsEmpty());  // second 7: still the old file
  Wait(3);
  Write("new", PodLine("ADDED", 2) + PodLine("ADDED", 4) + PodLine("DELETED", 3));
  std::filesystem::rename(PathOf("new"), PathOf("pods.json"));
  EXPECT_THAT(News(feed), ElementsAre("broken@7", "u2", "u4", "-u3@7"));
  EXPECT_FALSE(feed.stats().synced);
  EXPECT_EQ(feed.stats().relists, 1u);
  EXPECT_THAT(feed.stats().last_error, HasSubstr("was replaced by another file"));
  Wait(1);
  EXPECT_THAT(News(feed), ElementsAre("-u1@7", "synced"));
  EXPECT_EQ(feed.stats().objects, 2u);
}

TEST_F(FileFeedTest, RepeatedListIsNotCompleteWhileItGrows) {
  Write("pods.json", PodLine("ADDED", 1) + PodLine("ADDED", 2) + PodLine("ADDED", 3));
  FileFeed feed = Feed("pods.json");
  Drain(feed);
  Write("pods.json", "");  // kubectl starts again, and takes its time
  EXPECT_THAT(News(feed), ElementsAre("broken@1"));
  Wait(100);
  EXPECT_THAT(News(feed), IsEmpty());
  EXPECT_THAT(feed.stats().waiting, HasSubstr("holds none of the objects that are listed anew"));
  for (int n = 1; n <= 3; ++n) {
    clock_.Advance(std::chrono::milliseconds(999));
    Append("pods.json", PodLine("ADDED", n));
    EXPECT_THAT(News(feed), ElementsAre(fmt::format("u{}", n)));
  }
  clock_.Advance(std::chrono::milliseconds(999));
  EXPECT_THAT(News(feed), IsEmpty());
  clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_THAT(News(feed), ElementsAre("synced"));  // nobody died
}

TEST_F(FileFeedTest, RemovedFileIsAGapUntilItIsBack) {
  Write("pods.json", PodLine("ADDED", 1));
  FileFeed feed = Feed("pods.json");
  Drain(feed);
  std::filesystem::remove(PathOf("pods.json"));
  Wait(5);
  EXPECT_THAT(News(feed), ElementsAre("broken@1"));
  EXPECT_THAT(feed.stats().waiting, HasSubstr("cannot be read: No such file"));
  Write("pods.json", PodLine("ADDED", 2));
  EXPECT_THAT(News(feed), ElementsAre("u2"));
  Wait(1);
  EXPECT_THAT(News(feed), ElementsAre("-u1@1", "synced"));
}

TEST_F(FileFeedTest, HalfAnObjectInAReplacedFileIsCounted) {
  Write("pods.json", PodLine("ADDED", 1) + "{\"type\":");
  FileFeed feed = Feed("pods.json");
  EXPECT_THAT(News(feed), ElementsAre("u1"));
  Write("new", PodLine("ADDED", 1));
  std::filesystem::rename(PathOf("new"), PathOf("pods.json"));
  EXPECT_THAT(News(feed), ElementsAre("lost pod_event", "broken@1", "u1"));
  EXPECT_EQ(feed.stats().skipped, 1u);
}

TEST_F(FileFeedTest, ErrorEventBreaksTheFeed) {
  Write("pods.json", PodLine("ADDED", 1) + PodLine("ADDED", 2));
  FileFeed feed = Feed("pods.json");
  Drain(feed);
  Wait(2);
  Append("pods.json", R"({"type":"ERROR","object":{"kind":"Status","code":410,)"
                      R"("reason":"Expired","message":"too old resource version"}})"
                      "\n");
  EXPECT_THAT(News(feed), ElementsAre("broken@3"));
  EXPECT_THAT(feed.stats().last_error,
              HasSubstr("pods.json:3: the watch ended: Expired: too old resource version"));
  Wait(100);
  EXPECT_THAT(News(feed), IsEmpty());  // nothing is listed: nobody is dead yet
  Append("pods.json", PodLine("ADDED", 2));
  EXPECT_THAT(News(feed), ElementsAre("u2"));
  Wait(1);
  EXPECT_THAT(News(feed), ElementsAre("-u1@3", "synced"));
}

TEST_F(FileFeedTest, PodThatIsNotUnderstoodInARepeatedListLives) {
  Write("pods.json", PodLine("ADDED", 1) + PodLine("ADDED", 2));
  FileFeed feed = Feed("pods.json");
  Drain(feed);
  std::string unclear = PodLine("ADDED", 1);
  unclear.replace(unclear.find("10.0."), 5, "10.x.");
  Write("new", unclear + PodLine("ADDED", 2));
  std::filesystem::rename(PathOf("new"), PathOf("pods.json"));
  EXPECT_THAT(News(feed), ElementsAre("broken@1", "lost pod_event", "u2"));
  EXPECT_THAT(feed.stats().last_error, HasSubstr("pods.json:1: an event was skipped: pod shop/p1"));
  Wait(1);
  EXPECT_THAT(News(feed), ElementsAre("synced"));
  EXPECT_EQ(feed.stats().objects, 2u);
}

TEST_F(FileFeedTest, StampsNeverDecreaseNorPrecedeTheStep) {
  Write("pods.json", KubeData("pods.json"));
  FileFeed feed = Feed("pods.json");
  BootTime last = clock_.Now();
  for (int step = 0; step < 3; ++step) {
    Append("pods.json", PodLine("ADDED", step));
    for (const Input& input : Drain(feed)) {
      EXPECT_GE(input.observed, last);
      last = input.observed;
    }
    Wait(1);
    last = clock_.Now();
  }
}

}  // namespace
}  // namespace phantomd
