// A recording may be silent for months: nothing is lost by it, and it takes no longer for it.
#include <gtest/gtest.h>

#include "tests/engine/random_scene.h"
#include "tests/engine/scene_run.h"

namespace phantomd::testing {
namespace {

constexpr double kHour = 3600;

// An input that tells nothing new: the clock as it is.
void Tick(Scene& scene, double t) {
  WallOffset offset = scene.header.offset;
  for (const Scene::Event& event : scene.Events()) {
    if (const auto* clock = std::get_if<ClockChange>(&event.input.value)) offset = clock->offset;
  }
  scene.At(t).Add(Edge::kKube, {Seconds(t), ClockChange{offset}});
}

double EndOf(const Scene& scene) {
  return static_cast<double>(scene.Events().back().input.observed.nanos()) / 1e9;
}

class LongSilenceTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(LongSilenceTest, EndsAsIfEveryRoundOfHousekeepingHadBeenMade) {
  Scene silent = RandomScene(GetParam());
  silent.header.settings.horizon = std::chrono::minutes(20);
  Scene ticking = silent;
  const double end = EndOf(silent);
  for (double t = end + 60; t < end + 6 * kHour; t += 600) Tick(ticking, t);
  Tick(silent, end + 6 * kHour);
  Tick(ticking, end + 6 * kHour);
  SceneRun skipped(silent), kept(ticking);
  skipped.Replay(silent);
  kept.Replay(ticking);
  EXPECT_EQ(skipped.ReportText(), kept.ReportText());
  EXPECT_EQ(skipped.Verdicts(), kept.Verdicts());
}

INSTANTIATE_TEST_SUITE_P(Seeds, LongSilenceTest, ::testing::Range<uint64_t>(1, 6));

TEST(LongSilence, TwoHundredYearsAreNotKeptHouseSecondBySecond) {
  Scene scene = RandomScene(1);
  Tick(scene, EndOf(scene) + 200 * 365 * 24 * kHour);
  SceneRun run(scene);
  run.Replay(scene);
  EXPECT_EQ(run.engine->MakeReport()->status.held, 0u);
}

}  // namespace
}  // namespace phantomd::testing
