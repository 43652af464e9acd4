// Established connections that outlive their pod: whose they are, when that can be told, and how
// long after the pod they ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "tests/engine/scene_run.h"

namespace phantomd::testing {
namespace {

using How = ConnectionEnd::How;

class StrandedEndTest : public ::testing::Test {
 protected:
  // `old` of v1 is replaced by `new` of v2; it is withdrawn at 10 s.
  StrandedEndTest() {
    scene.At(1).Node("node-1", true).Proxy("webapp").Synced();
    scene.At(2).Runs({"old", "10.0.0.1"}).Slice("catalog", {"old"});
    scene.At(9).Runs({"new", "10.0.0.2", "catalog", "v2"}).Slice("catalog", {"old", "new"});
    scene.At(10).Terminates("old").Slice("catalog", {"new"}, {"old"});
  }
  void Dies(double t) { scene.At(t + 0.2).Ends("old", t).Deleted("old"); }
  void End(How how, double t, uint64_t socket = 0, double observed = 0) {
    ConnectionEnd end;
    end.socket_cookie = socket;
    end.how = how;
    end.initiator = Initiator::kProxy;
    end.proxy_id = Scene::ProxyIdOf("webapp");
    end.destination = {Ip("10.0.0.1"), Scene::kPort};
    end.established = Seconds(5);
    end.ended = Seconds(t);
    scene.Add(Edge::kProbe, {Seconds(observed > 0 ? observed : t + 0.1), end});
  }
  void Tick(double t) { scene.Add(Edge::kKube, {Seconds(t), ClockChange{scene.header.offset}}); }
  // "RESET 1 4s, ": how they ended, how many, and how long after the pod at most.
  std::string Stranded(Engine::Options options = {}) {
    run = std::make_unique<SceneRun>(scene, options);
    run->Replay(scene);
    std::string text;
    const auto report = run->engine->MakeReport();
    for (const RolloutReport& rollout : report->rollouts) {
      for (const RolloutReport::Stranded& s : rollout.stranded_after) {
        text += fmt::format("{} {} {}s, ", s.how, s.count,
                            std::chrono::duration<double>(s.after_max).count());
      }
      EXPECT_EQ(rollout.dead + rollout.reused, 0u) << "they are no phantom connects";
    }
    return text;
  }

  Scene scene;
  std::unique_ptr<SceneRun> run;
};

TEST_F(StrandedEndTest, IsTheOneThatEndsAfterItsPod) {
  Dies(20);
  End(How::kReset, 24);
  End(How::kAborted, 25.5);
  Tick(60);
  EXPECT_EQ(Stranded(), "ABORTED 1 5.5s, RESET 1 4s, ");
}

TEST_F(StrandedEndTest, AFinStrandsNobody) {
  Dies(20);
  End(How::kClosed, 24);
  Tick(60);
  EXPECT_EQ(Stranded(), "");
}

TEST_F(StrandedEndTest, TheFarewellOfADyingPodIsNone) {
  // Its end is known within bounds alone: a RST inside them came from its own kernel.
  scene.At(20.2).Finishes("old");
  scene.At(20.4).Deleted("old");
  End(How::kReset, 20.1);
  Tick(60);
  EXPECT_EQ(Stranded(), "");
}

TEST_F(StrandedEndTest, SilenceInsideTheBoundsIsThatOfTheDead) {
  scene.At(20.2).Finishes("old");
  scene.At(20.4).Deleted("old");
  End(How::kStalled, 20.1);
  Tick(60);
  EXPECT_EQ(Stranded(), "STALLED 1 0.25s, ");
}

TEST_F(StrandedEndTest, AResetOfAWithdrawnPodWaitsForItsEnd) {
  End(How::kReset, 24);
  Tick(40);
  EXPECT_EQ(Stranded(), "");
  scene.At(50).Ends("old", 20).Deleted("old");  // told late
  Tick(51);
  EXPECT_EQ(Stranded(), "RESET 1 4s, ");
}

TEST_F(StrandedEndTest, NotForLongerThanMaxHold) {
  End(How::kReset, 24);
  scene.At(88).Ends("old", 20).Deleted("old");
  Tick(90);
  EXPECT_EQ(Stranded(), "") << "decided at 87 s: tried first at 27 s";
}

TEST_F(StrandedEndTest, BehindABrokenFeedItWaitsUntilThatIsWhole) {
  scene.At(23).FeedIs(Feed::kPods, FeedState::kBroken, 22);
  End(How::kReset, 24);
  Tick(100);
  EXPECT_EQ(Stranded(), "");
  scene.At(101).Ends("old", 20).Deleted("old").FeedIs(Feed::kPods, FeedState::kSynced);
  EXPECT_EQ(Stranded(), "RESET 1 4s, ");
}

TEST_F(StrandedEndTest, AStalledConnectionIsCountedOnceByTheEndItCameTo) {
  Dies(20);
  End(How::kStalled, 22, 77);
  End(How::kStalled, 23, 78);
  Tick(60);
  EXPECT_EQ(Stranded(), "STALLED 2 3s, ");
  End(How::kExpired, 944, 77);
  Tick(960);
  EXPECT_EQ(Stranded(), "EXPIRED 1 924s, STALLED 1 3s, ");
}

TEST_F(StrandedEndTest, BeyondMaxHeldTheOldestIsDecidedWithWhatIsKnown) {
  for (int i = 0; i < 3; ++i) End(How::kReset, 24 + i);
  scene.At(30).Ends("old", 20).Deleted("old");
  Tick(40);
  EXPECT_EQ(Stranded({.max_held = 2}), "RESET 2 6s, ");
  EXPECT_EQ(run->engine->MakeReport()->status.late,
            (Counts{{"connection_end_judged_early", 1}, {"pod_end", 1}}));
}

TEST_F(StrandedEndTest, ARecordThatComesLateIsCounted) {
  End(How::kClosed, 24, 0, 27.1);
  Stranded();
  EXPECT_EQ(run->engine->MakeReport()->status.late, (Counts{{"connection_end", 1}}));
}

}  // namespace
}  // namespace phantomd::testing
