// The order in which stamped inputs are delivered within the watermark changes nothing, nor does
// the pace of Advance; and the sequence that was applied, replayed, gives the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/engine/random_scene.h"
#include "tests/engine/scene_run.h"
#include "tests/testing/seeds.h"

namespace phantomd::testing {
namespace {

constexpr double kEnd = 200;

// Delivers the scene as edges would: in slices of random length, shuffled within each slice, every
// edge's low mark somewhere between the last slice's end and this one's.
SceneRun Live(const Scene& scene, uint64_t order) {
  std::mt19937_64 random(order);
  const auto uniform = [&](double from, double to) {
    return std::uniform_real_distribution<>(from, to)(random);
  };
  const std::vector<Scene::Event> events = scene.Events();
  SceneRun run(scene);
  size_t next = 0;
  double from = 0;
  while (from < kEnd) {
    const double to = std::min(kEnd, from + uniform(0.05, 3));
    const size_t first = next;
    while (next < events.size() && events[next].input.observed < Seconds(to)) ++next;
    std::vector<Scene::Event> slice(events.begin() + first, events.begin() + next);
    std::shuffle(slice.begin(), slice.end(), random);
    for (Scene::Event& event : slice) {
      run.engine->Post({event.edge, std::move(event.input)});
      if (uniform(0, 1) < 0.2) run.engine->Advance();
    }
    for (const Edge edge : {Edge::kProbe, Edge::kKube, Edge::kEnvoy}) {
      run.engine->Post({edge, to == kEnd ? Seconds(kEnd) : Seconds(uniform(from, to))});
      if (uniform(0, 1) < 0.5) run.engine->Advance();
    }
    from = to;
  }
  run.engine->Advance();
  run.Finish();
  return run;
}

class OrderModelTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(OrderModelTest, DeliveryOrderAndPaceChangeNothing) {
  const Scene scene = RandomScene(GetParam());
  const SceneRun first = Live(scene, 1);
  ASSERT_GT(first.judged.size(), 100u) << "seed " << GetParam();
  for (const uint64_t order : {GetParam() + 1000, GetParam() + 2000}) {
    const SceneRun other = Live(scene, order);
    ASSERT_EQ(first.Verdicts(), other.Verdicts()) << "seed " << GetParam() << " order " << order;
    ASSERT_EQ(first.ReportText(), other.ReportText()) << "seed " << GetParam();
  }
}

TEST_P(OrderModelTest, WhatWasAppliedReplaysToTheSame) {
  const Scene scene = RandomScene(GetParam());
  const SceneRun live = Live(scene, 4);
  SceneRun replay(scene);
  for (const Input& input : live.applied) ASSERT_TRUE(replay.engine->Replay(input).ok());
  replay.Finish();
  EXPECT_EQ(live.Verdicts(), replay.Verdicts()) << "seed " << GetParam();
  EXPECT_EQ(live.ReportText(), replay.ReportText()) << "seed " << GetParam();
  EXPECT_EQ(live.applied, replay.applied);
}

TEST_P(OrderModelTest, EveryKindOfInputIsAmongIt) {
  std::set<size_t> kinds;
  for (const Scene::Event& event : RandomScene(GetParam()).Events()) {
    kinds.insert(event.input.value.index());
  }
  // All but the header and the parts of an export, which begin a recording; some kinds are rare.
  EXPECT_GE(kinds.size(), 9u) << "seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, OrderModelTest,
                         ::testing::Range<uint64_t>(1, 1 + testing::Seeds(100)));

}  // namespace
}  // namespace phantomd::testing
