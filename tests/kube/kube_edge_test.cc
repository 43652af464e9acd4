#include "agent/kube/kube_edge.h"

#include "gmock/gmock.h"
#include "tests/kube/feed_fixture.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::NodeLine;
using testing::PodLine;

constexpr auto kLong = std::chrono::seconds(60);  // only ever reached by a failure

class KubeEdgeTest : public testing::FeedFixture {
 protected:
  std::unique_ptr<FeedLoop> Loop(const std::vector<std::string>& files) {
    std::vector<std::unique_ptr<WatchSource>> sources;
    for (const std::string& name : files) {
      sources.push_back(
          std::make_unique<FileFeed>(FileFeed::Options{.path = PathOf(name)}, clock_));
    }
    return std::make_unique<FeedLoop>(std::move(sources), clock_.Offset(), clock_, core_);
  }
  // What is in the core's mailbox; a low mark is "mark@<seconds>".
  std::vector<std::string> Posts() {
    std::vector<std::string> out;
    for (const EdgePost& post : core_.TakeAll()) out.push_back(PostWord(post));
    return out;
  }
  static std::string PostWord(const EdgePost& post) {
    EXPECT_EQ(post.edge, Edge::kKube);
    if (const auto* input = std::get_if<Input>(&post.value)) return testing::Word(*input);
    const BootTime mark = std::get<BootTime>(post.value);
    return mark == BootTime::Max() ? "mark@max" : "mark" + testing::Seconds(mark);
  }

  Mailbox<EdgePost> core_{10'000};
};

TEST_F(KubeEdgeTest, EveryStepEndsWithALowMark) {
  const auto loop = Loop({"pods.json", "nodes.json"});
  Write("pods.json", PodLine("ADDED", 1));
  EXPECT_EQ(loop->Step(), FeedLoop::Outcome::kMore);
  EXPECT_THAT(Posts(), ElementsAre("u1", "mark@1"));
  Write("nodes.json", NodeLine("ADDED", "n"));
  Wait(1);
  EXPECT_EQ(loop->Step(), FeedLoop::Outcome::kMore);
  EXPECT_THAT(Posts(), ElementsAre("synced", "n", "mark@2"));
  EXPECT_EQ(loop->Step(), FeedLoop::Outcome::kIdle);
  EXPECT_THAT(Posts(), ElementsAre("synced", "mark@2"));
}

TEST_F(KubeEdgeTest, NoInputIsStampedBeforeAnEarlierLowMark) {
  const auto loop = Loop({"pods.json"});
  BootTime mark = BootTime::Min();
  for (int i = 0; i < 20; ++i) {
    Append("pods.json", PodLine("ADDED", i).substr(0, i * 7));  // whole ones, halves, rubbish
    loop->Step();
    for (const EdgePost& post : core_.TakeAll()) {
      if (const auto* input = std::get_if<Input>(&post.value)) {
        EXPECT_GE(input->observed, mark);
      } else {
        EXPECT_GE(std::get<BootTime>(post.value), mark);
        mark = std::get<BootTime>(post.value);
      }
    }
    clock_.Advance(std::chrono::milliseconds(3));
  }
}

TEST_F(KubeEdgeTest, MovedWallClockIsTold) {
  const auto loop = Loop({"pods.json"});
  loop->Step();
  EXPECT_THAT(Posts(), ElementsAre("mark@1"));
  clock_.Step(std::chrono::seconds(-3));
  loop->Step();
  EXPECT_THAT(Posts(), ElementsAre("clock", "mark@1"));
  loop->Step();
  EXPECT_THAT(Posts(), ElementsAre("mark@1"));
}

TEST_F(KubeEdgeTest, SecondFileOfAKindIsRefused) {
  Write("pods.json", PodLine("ADDED", 1));
  Write("other.json", PodLine("ADDED", 2));
  const auto loop = Loop({"pods.json", "other.json"});
  loop->Step();
  loop->Step();
  EXPECT_THAT(Posts(), ElementsAre("u1", "mark@1", "synced", "mark@1"));
  const FeedStats& refused = loop->stats()->feeds[1];
  EXPECT_FALSE(refused.synced);
  EXPECT_EQ(refused.last_error, "file:" + PathOf("other.json") + " is not followed: file:" +
                                    PathOf("pods.json") + " already tells of the same kind");
}

TEST_F(KubeEdgeTest, RefusedFileTakesBackWhatItsNameSaid) {
  Write("nodes.json", NodeLine("ADDED", "n"));
  Write("pods.json", "");
  const auto loop = Loop({"nodes.json", "pods.json"});
  loop->Step();
  loop->Step();
  EXPECT_THAT(Posts(), ElementsAre("n", "synced", "mark@1", "synced", "mark@1"));
  Append("pods.json", NodeLine("ADDED", "m"));
  loop->Step();
  EXPECT_THAT(Posts(), ElementsAre("broken@1", "mark@1"));
}

TEST_F(KubeEdgeTest, StatsAreThoseOfEveryFeed) {
  Write("pods.json", PodLine("ADDED", 1) + "rubbish\n");
  const auto loop = Loop({"pods.json", "nodes.json"});
  loop->Step();
  loop->Step();
  const auto stats = loop->stats();
  ASSERT_EQ(stats->feeds.size(), 2u);
  EXPECT_EQ(stats->feeds[0].source, "file:" + PathOf("pods.json"));
  EXPECT_TRUE(stats->feeds[0].synced);
  EXPECT_EQ(stats->feeds[0].events, 1u);
  EXPECT_EQ(stats->feeds[0].skipped, 1u);
  EXPECT_THAT(stats->feeds[0].last_error, HasSubstr("pods.json:2: "));
  EXPECT_FALSE(stats->feeds[1].synced);
  EXPECT_THAT(stats->feeds[1].waiting, HasSubstr("nodes.json cannot be read"));
}

TEST_F(KubeEdgeTest, ThreadFollowsUntilItIsStopped) {
  KubeEdge edge(Loop({"pods.json"}), core_);
  Write("pods.json", PodLine("ADDED", 1));
  std::vector<std::string> words;
  while (words.empty() || words.back() != "synced") {
    const auto post = core_.Take(kLong);
    ASSERT_TRUE(post.has_value());
    if (!std::holds_alternative<BootTime>(post->value)) words.push_back(PostWord(*post));
  }
  EXPECT_THAT(words, ElementsAre("u1", "synced"));
  edge.Stop();
  EXPECT_EQ(Posts().back(), "mark@max");
  edge.Stop();
  EXPECT_THAT(Posts(), ElementsAre());  // nothing comes after the last mark
}

TEST_F(KubeEdgeTest, NoFeedHoldsNobodyUp) {
  KubeEdge edge(Loop({}), core_);
  EXPECT_THAT(Posts(), ElementsAre("mark@max"));
  edge.Stop();
  EXPECT_THAT(Posts(), ElementsAre());
}

TEST_F(KubeEdgeTest, ClosedCoreEndsTheThread) {
  core_.Close();
  KubeEdge edge(Loop({"pods.json"}), core_);
  edge.Stop();
  EXPECT_THAT(Posts(), ElementsAre());
}

}  // namespace
}  // namespace phantomd
