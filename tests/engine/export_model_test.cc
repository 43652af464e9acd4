// An engine that starts from an export, written down and read again, goes on as the one that never
// stopped: the same report at once, the same verdicts, demands and report afterwards.
#include <gtest/gtest.h>

#include <random>

#include "agent/wire/input_wire.h"
#include "tests/engine/random_scene.h"
#include "tests/engine/scene_run.h"
#include "tests/testing/report_text.h"
#include "tests/testing/seeds.h"

namespace phantomd::testing {
namespace {

// As a recording carries it.
std::vector<Input> Written(const Engine& engine) {
  std::vector<Input> inputs;
  engine.Export([&](const Input& input) {
    phantom::v1::Input message;
    EncodeInput(input, &message);
    phantom::v1::Input read;
    ASSERT_TRUE(read.ParseFromString(message.SerializeAsString()));
    const absl::StatusOr<Input> decoded = DecodeInput(read);
    ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
    inputs.push_back(*decoded);
  });
  return inputs;
}

struct Heir {
  explicit Heir(const std::vector<Input>& exported, Engine::Options options)
      : engine(std::get<Header>(exported.at(0).value), exported[0].observed, options, nullptr,
               [this](const Connection& c) { judged += TextOf(c) + "\n"; }) {
    for (size_t i = 1; i < exported.size(); ++i) {
      const absl::Status told = engine.Replay(exported[i]);
      EXPECT_TRUE(told.ok()) << told.ToString();
    }
  }

  std::string judged;
  Engine engine;
};

std::string DemandText(const PollDemand& demand) {
  std::string text;
  for (const auto& [id, of_proxy] : demand.proxies) {
    text += id.value() + (of_proxy.fast ? " fast " : " ") +
            std::to_string(of_proxy.answer_after.nanos()) + "\n";
  }
  return text;
}

class ExportModelTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(ExportModelTest, TheHeirGoesOnAsTheOneThatNeverStopped) {
  std::mt19937_64 random(GetParam());
  const Scene scene = RandomScene(GetParam());
  const std::vector<Scene::Event> events = scene.Events();
  const size_t cut = std::uniform_int_distribution<size_t>(1, events.size() - 1)(random);
  // A ring that overflows for some seeds, and too few cells for others.
  const Engine::Options options{.ring = GetParam() % 3 == 0 ? 20u : 100'000u,
                                .max_metric_cells = GetParam() % 4 == 0 ? 12u : 20'000u};
  SceneRun whole(scene, options);
  for (size_t i = 0; i < cut; ++i) ASSERT_TRUE(whole.engine->Replay(events[i].input).ok());
  Heir heir(Written(*whole.engine), options);
  EXPECT_EQ(heir.judged, "") << "what was judged is not judged again";
  ASSERT_EQ(whole.ReportText(), TextOf(*heir.engine.MakeReport()))
      << "at the cut, seed " << GetParam();
  ASSERT_EQ(DemandText(whole.engine->demand()), DemandText(heir.engine.demand()));

  whole.judged.clear();
  for (size_t i = cut; i < events.size(); ++i) {
    ASSERT_TRUE(whole.engine->Replay(events[i].input).ok());
    ASSERT_TRUE(heir.engine.Replay(events[i].input).ok());
    ASSERT_EQ(DemandText(whole.engine->demand()), DemandText(heir.engine.demand()))
        << "after input " << i << " of seed " << GetParam();
    ASSERT_EQ(whole.Verdicts(), heir.judged) << "after input " << i << " of seed " << GetParam();
    if (i % 50 != 0) continue;
    ASSERT_EQ(whole.ReportText(), TextOf(*heir.engine.MakeReport())) << "after input " << i;
  }
  whole.Finish();
  heir.engine.Finish();
  EXPECT_EQ(whole.Verdicts(), heir.judged) << "seed " << GetParam();
  EXPECT_EQ(whole.ReportText(), TextOf(*heir.engine.MakeReport())) << "seed " << GetParam();
}

TEST_P(ExportModelTest, AnExportOfAnHeirIsTheExportItCameFrom) {
  const Scene scene = RandomScene(GetParam());
  const std::vector<Scene::Event> events = scene.Events();
  SceneRun run(scene);
  for (size_t i = 0; i < events.size() * 2 / 3; ++i) {
    ASSERT_TRUE(run.engine->Replay(events[i].input).ok());
  }
  const std::vector<Input> once = Written(*run.engine);
  const Heir heir(once, {});
  const std::vector<Input> twice = Written(heir.engine);
  const auto concluded = [](const std::vector<Input>& all) {
    std::vector<Input> parts;
    for (const Input& input : all) {
      if (std::holds_alternative<Restored>(input.value)) parts.push_back(input);
    }
    return parts;
  };
  const std::vector<Input> before = concluded(once);
  const std::vector<Input> after = concluded(twice);
  ASSERT_EQ(before.size(), after.size()) << "seed " << GetParam();
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_TRUE(before[i] == after[i]) << "seed " << GetParam() << ", part " << i << " of kind "
                                       << std::get<Restored>(before[i].value).part->index();
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, ExportModelTest,
                         ::testing::Range<uint64_t>(1, 1 + testing::Seeds(120)));

// What was judged while no input came is judged by whoever is told the inputs, once the instant is
// one of them.
TEST(MarkNowTest, TheInputsLeadToWhatWasJudgedUntilNow) {
  Scene scene;
  scene.At(1).Proxy("webapp");
  std::vector<Input> applied;
  Engine live(
      scene.header, BootTime::FromNanos(1), {},
      [&](const Input& input) { applied.push_back(input); }, nullptr);
  Attempt attempt;
  attempt.started = attempt.ended = BootTime::FromNanos(2'000'000'000);
  attempt.destination = {IpAddr::V4(192, 0, 2, 1), 80};
  live.Post({Edge::kProbe, Input{attempt.ended, attempt}});
  for (const Edge edge : {Edge::kProbe, Edge::kKube, Edge::kEnvoy}) {
    live.Post({edge, BootTime::FromNanos(9'000'000'000)});
  }
  live.Advance();
  ASSERT_EQ(live.MakeReport()->status.attempts, 1u);
  const auto told_again = [&] {
    Engine heir(scene.header, BootTime::FromNanos(1), {}, nullptr, nullptr);
    for (const Input& input : applied) EXPECT_TRUE(heir.Replay(input).ok());
    return heir.MakeReport()->status.attempts;
  };
  EXPECT_EQ(told_again(), 0u);
  live.MarkNow();
  EXPECT_EQ(told_again(), 1u);
  const size_t marked = applied.size();
  live.MarkNow();
  EXPECT_EQ(applied.size(), marked) << "once";
}

TEST(MarkNowTest, AnInputOfTheSameInstantComesBeforeTheMark) {
  const Scene scene;
  std::vector<Input> applied;
  Engine live(
      scene.header, BootTime::FromNanos(1), {},
      [&](const Input& input) { applied.push_back(input); }, nullptr);
  live.Post({Edge::kProbe, Input{BootTime::FromNanos(9'000), Loss{.what = "attempt", .count = 1}}});
  for (const Edge edge : {Edge::kProbe, Edge::kKube, Edge::kEnvoy}) {
    live.Post({edge, BootTime::FromNanos(9'000)});
  }
  live.Advance();
  ASSERT_EQ(live.now(), BootTime::FromNanos(9'000));
  EXPECT_FALSE(live.MarkNow());
  EXPECT_TRUE(applied.empty()) << "whoever ends here was not told of the loss";
  for (const Edge edge : {Edge::kProbe, Edge::kKube, Edge::kEnvoy}) {
    live.Post({edge, BootTime::FromNanos(9'001)});
  }
  live.Advance();
  EXPECT_TRUE(live.MarkNow());
  ASSERT_EQ(applied.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<Loss>(applied[0].value));
  EXPECT_EQ(applied[1].observed, BootTime::FromNanos(9'001));
}

TEST(MarkNowTest, WhatComesTooLateIsNotToldAsEarlierThanTheMark) {
  const Scene scene;
  std::vector<Input> applied;
  Engine live(
      scene.header, BootTime::FromNanos(1), {},
      [&](const Input& input) { applied.push_back(input); }, nullptr);
  for (const Edge edge : {Edge::kProbe, Edge::kKube, Edge::kEnvoy}) {
    live.Post({edge, BootTime::FromNanos(9'000)});
  }
  live.Advance();
  live.MarkNow();
  live.Post({Edge::kKube, Input{BootTime::FromNanos(5'000), PodChange{}}});
  live.Post({Edge::kProbe, BootTime::FromNanos(9'500)});
  live.Post({Edge::kKube, BootTime::FromNanos(9'500)});
  live.Post({Edge::kEnvoy, BootTime::FromNanos(9'500)});
  live.Advance();
  ASSERT_EQ(applied.size(), 2u);
  Engine heir(scene.header, BootTime::FromNanos(1), {}, nullptr, nullptr);
  for (const Input& input : applied) EXPECT_TRUE(heir.Replay(input).ok());
}

TEST(ExportTest, APartOfAnExportInTheMiddleOfARecordingIsRefused) {
  Scene scene;
  scene.At(1).Proxy("webapp");
  SceneRun run(scene);
  run.Replay(scene);
  const std::vector<Input> exported = Written(*run.engine);
  const absl::Status status = run.engine->Replay(exported.back());
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "a restored part observed at 1000000000 ns: it belongs to the export of 500000000 ns, "
            "which begins the recording");
}

}  // namespace
}  // namespace phantomd::testing
