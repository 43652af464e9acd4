// An agent that starts from what another one kept knows what that one knew, whenever it was killed.
#include "agent/cmd/daemon/predecessor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/base/temporary_folder.h"
#include "tests/engine/random_scene.h"
#include "tests/engine/scene_run.h"
#include "tests/testing/report_text.h"
#include "tests/testing/seeds.h"

namespace phantomd {
namespace {

using ::testing::HasSubstr;
using testing::RandomScene;
using testing::Scene;
using testing::SceneRun;
using testing::TextOf;

constexpr Nanos kNotice = std::chrono::seconds(2);
const StateOwner kOwner{.boot_id = "boot-1", .node_name = "n1", .feed = "f"};

class LateClock : public Clock {
 public:
  BootTime Now() const override { return BootTime::FromNanos(int64_t{1} << 60); }
  WallOffset Offset() const override { return {}; }
};

class PredecessorTest : public testing::TemporaryFolder,
                        public ::testing::WithParamInterface<uint64_t> {
 protected:
  StateRequest Request(const Header& header) const {
    return {.folder = path(),
            .owner = kOwner,
            .header = header,
            .clock = &clock_,
            .notice = kNotice,
            .make_engine = [](const Header& h, BootTime started) {
              return std::make_unique<Engine>(h, started, Engine::Options(), Engine::AppliedSink(),
                                              Engine::JudgedSink());
            }};
  }
  void Keep(const std::vector<Input>& inputs, bool ended = false) const {
    std::string bytes;
    for (const Input& input : inputs) AppendInput(input, bytes);
    const auto file = *StateFile::Open(path(), kOwner);
    ASSERT_TRUE(file->Replace().ok());
    ASSERT_TRUE(file->Append(bytes).ok());
    ASSERT_TRUE(file->Commit(ended).ok());
  }
  // `run` until event `cut`, kept as an export in the middle and the inputs behind it.
  static std::vector<Input> Lead(SceneRun& run, const std::vector<Scene::Event>& events,
                                 size_t exported, size_t cut) {
    std::vector<Input> kept;
    for (size_t i = 0; i < cut; ++i) {
      if (i == exported) run.engine->Export([&](const Input& input) { kept.push_back(input); });
      EXPECT_TRUE(run.engine->Replay(events[i].input).ok());
      if (i >= exported) kept.push_back(events[i].input);
    }
    return kept;
  }
  const LateClock clock_;

  static std::vector<Input> BreakAll(const std::vector<Input>& kept) {
    InheritedFeeds feeds;
    for (const Input& input : kept) feeds.Learn(input);
    return feeds.Break(kNotice);
  }
};

class PredecessorModelTest : public PredecessorTest {};

TEST_P(PredecessorModelTest, TheHeirKnowsWhatWasKeptAndThatItsFeedsAreBroken) {
  std::mt19937_64 random(GetParam());
  const Scene scene = RandomScene(GetParam());
  const std::vector<Scene::Event> events = scene.Events();
  const size_t cut = std::uniform_int_distribution<size_t>(1, events.size())(random);
  const size_t exported = std::uniform_int_distribution<size_t>(0, cut - 1)(random);
  SceneRun run(scene);
  const std::vector<Input> kept = Lead(run, events, exported, cut);
  Keep(kept);

  Header header = scene.header;
  header.agent_version = "next";
  auto opened = OpenState(Request(header));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  ASSERT_TRUE(opened->predecessor.has_value());
  EXPECT_EQ(opened->predecessor->until, kept.back().observed);
  EXPECT_FALSE(opened->predecessor->ended);
  for (const Input& input : BreakAll(kept)) ASSERT_TRUE(run.engine->Replay(input).ok());
  const auto text = [](const Engine& engine) {
    Report report = *engine.MakeReport();
    report.status.agent_version.clear();
    return TextOf(report);
  };
  ASSERT_EQ(text(*opened->predecessor->engine), text(*run.engine)) << "seed " << GetParam();
  const auto report = opened->predecessor->engine->MakeReport();
  for (const FeedStatus& feed : report->status.feeds) {
    EXPECT_FALSE(feed.synced);
  }
  std::set<ProxyId> running;
  for (const Input& input : kept) {
    if (const auto* change = std::get_if<ProxyChange>(&input.value)) {
      if (change->gone) {
        running.erase(change->proxy.id);
      } else {
        running.insert(change->proxy.id);
      }
    }
  }
  EXPECT_EQ(opened->predecessor->proxies, running);
}

TEST_P(PredecessorModelTest, WhatWasJudgedStaysJudgedWhenSettingsChange) {
  const Scene scene = RandomScene(GetParam());
  const std::vector<Scene::Event> events = scene.Events();
  SceneRun run(scene);
  const std::vector<Input> kept = Lead(run, events, events.size() / 4, events.size() * 3 / 4);
  Keep(kept, /*ended=*/true);
  Header header = scene.header;
  header.settings.judgement_delay += std::chrono::seconds(30);
  header.settings.clock_error += std::chrono::seconds(3);
  auto opened = OpenState(Request(header));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_TRUE(opened->predecessor->ended);
  const auto before = run.engine->MakeReport();
  const auto after = opened->predecessor->engine->MakeReport();
  EXPECT_EQ(after->status.attempts, before->status.attempts);
  EXPECT_EQ(after->status.attempts_by_class, before->status.attempts_by_class);
  EXPECT_EQ(after->status.held, before->status.held);
}

INSTANTIATE_TEST_SUITE_P(Seeds, PredecessorModelTest,
                         ::testing::Range<uint64_t>(1, 1 + testing::Seeds(40)));

TEST_F(PredecessorTest, OnlyTheEndOfThisVeryAgentIsAnEnd) {
  Keep({{BootTime::FromNanos(1), Header()}}, /*ended=*/true);
  for (const bool ended : {true, false}) {
    const auto opened = OpenState(Request(Header()));
    ASSERT_TRUE(opened.ok());
    EXPECT_EQ(opened->predecessor->ended, ended);  // and it is killed before it has kept anything
  }
}

TEST_F(PredecessorTest, WhatEndsInTheFutureIsSetAside) {
  Keep({{BootTime::FromNanos(1), Header()}, {clock_.Now() + Nanos(1), ClockChange{}}});
  const auto opened = OpenState(Request(Header()));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_FALSE(opened->predecessor.has_value());
  EXPECT_TRUE(std::filesystem::exists(PathOf("state.db.unusable")));
}

TEST_F(PredecessorTest, NothingKeptIsNoPredecessor) {
  const auto opened = OpenState(Request(Header()));
  ASSERT_TRUE(opened.ok());
  EXPECT_FALSE(opened->predecessor.has_value());
  EXPECT_NE(opened->file, nullptr);
}

TEST_F(PredecessorTest, WhatNoEngineCanHaveBeenToldIsSetAside) {
  const auto at = [](int64_t seconds) { return BootTime::FromNanos(seconds * 1'000'000'000); };
  const std::vector<Input> wrong[] = {
      {{at(1), ClockChange{}}},                                             // no header
      {{at(1), Header()}, {at(2), Header()}},                               // two
      {{at(1), Header()}, {at(5), ClockChange{}}, {at(4), ClockChange{}}},  // not in order
  };
  for (const std::vector<Input>& inputs : wrong) {
    Keep(inputs);
    const std::string bytes = ReadBytes(PathOf("state.db"));
    const auto opened = OpenState(Request(Header()));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    EXPECT_FALSE(opened->predecessor.has_value());
    EXPECT_EQ(ReadBytes(PathOf("state.db.unusable")), bytes);
  }
}

TEST_F(PredecessorTest, AStateInUseIsLeftAlone) {
  Keep({{BootTime::FromNanos(1), Header()}});
  const auto other = *StateFile::Open(path(), kOwner);
  const auto opened = OpenState(Request(Header()));
  EXPECT_EQ(opened.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_FALSE(std::filesystem::exists(PathOf("state.db.unusable")));
}

}  // namespace
}  // namespace phantomd
