// The order in which stamped inputs are delivered within the watermark changes nothing, nor does
// the pace of Advance; and the sequence that was applied, replayed, gives the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/engine/random_scene.h"
#include "tests/engine/scene_run.h"

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
  for (const uint64_t order : {2, 3}) {
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

TEST_P(OrderModelTest, AttemptsAreTheSumOverClassesInAllAndPerProxy) {
  const Scene scene = RandomScene(GetParam());
  const SceneRun run = Live(scene, 5);
  const auto report = run.engine->MakeReport();
  uint64_t classes = 0, proxies = 0;
  for (const auto& [name, count] : report->status.attempts_by_class) classes += count;
  for (const ProxyReport& proxy : report->proxies) proxies += proxy.attempts;
  EXPECT_EQ(report->status.attempts, classes);
  EXPECT_EQ(report->status.attempts, proxies);
  EXPECT_EQ(report->status.attempts, run.judged.size());
  uint64_t told = 0;
  for (const Scene::Event& event : scene.Events()) {
    told += std::holds_alternative<Attempt>(event.input.value) ? 1 : 0;
  }
  EXPECT_EQ(report->status.attempts + report->status.not_judged, told);
}

TEST_P(OrderModelTest, AnEngineStartedInMidLifeGoesOnTheSame) {
  const Scene scene = RandomScene(GetParam());
  const std::vector<Scene::Event> events = scene.Events();
  const size_t half = events.size() / 2;
  SceneRun whole(scene);
  std::vector<Input> exported;
  size_t judged_before = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    if (i == half) {
      whole.engine->Export([&](const Input& input) { exported.push_back(input); });
      judged_before = whole.judged.size();
    }
    ASSERT_TRUE(whole.engine->Replay(events[i].input).ok());
  }
  whole.Finish();
  std::vector<Connection> judged;
  Engine restored(std::get<Header>(exported[0].value), exported[0].observed, {}, nullptr,
                  [&](const Connection& c) { judged.push_back(c); });
  for (size_t i = 1; i < exported.size(); ++i) ASSERT_TRUE(restored.Replay(exported[i]).ok());
  for (size_t i = half; i < events.size(); ++i) {
    ASSERT_TRUE(restored.Replay(events[i].input).ok());
  }
  restored.Finish();
  ASSERT_EQ(judged.size(), whole.judged.size() - judged_before) << "seed " << GetParam();
  const auto summaries = [](auto begin, auto end) {
    std::vector<std::pair<uint64_t, std::string>> out;
    for (auto it = begin; it != end; ++it) out.emplace_back(it->socket_cookie, Summary(*it));
    std::sort(out.begin(), out.end());
    return out;
  };
  EXPECT_EQ(summaries(judged.begin(), judged.end()),
            summaries(whole.judged.begin() + static_cast<long>(judged_before), whole.judged.end()))
      << "seed " << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Seeds, OrderModelTest, ::testing::Range<uint64_t>(1, 9));

}  // namespace
}  // namespace phantomd::testing
