// What the engine says of simulated worlds, held against what is true of them: the short form of
// world_report, on few seeds.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "tests/testing/report_text.h"
#include "tests/world/score.h"
#include "tests/world/simulation.h"
#include "tests/world/story.h"

namespace phantomd::world {

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

namespace {

constexpr uint64_t kSeeds = 5;

// Attempts that one change makes stale come in bunches: three deviations would be few.
constexpr double kDeviations = 4;

class WorldTest : public ::testing::TestWithParam<Scenario> {};

TEST_P(WorldTest, VerdictsReachTheirLimits) {
  Tally tally;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Simulation world(GetParam(), seed, {.keep_inputs = true});
    world.Run();
    tally.Add(ScoreOf(world, [](const Found& found) {
      if (found.finding == Finding::kCertainWrong) ADD_FAILURE() << TextOf(found);
    }));
    EXPECT_EQ(world.engine().MakeReport()->status.attempts, world.judged().size());
  }
  EXPECT_GT(tally.attempts, 1000u * kSeeds);
  for (const std::string& line : Missed(tally, GetParam().limits, kDeviations))
    ADD_FAILURE() << line;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, WorldTest, ::testing::ValuesIn(Scenarios()),
                         [](const auto& info) { return info.param.name; });

const Scenario& Everything() { return Scenarios().back(); }

std::string TextOfAll(const std::vector<Connection>& judged) {
  std::string out;
  for (const Connection& connection : judged) out += testing::TextOf(connection) + "\n";
  return out;
}

Edge EdgeOf(const Input& input) {
  if (std::holds_alternative<BeliefSnapshot>(input.value)) return Edge::kEnvoy;
  const bool kube = std::holds_alternative<PodChange>(input.value) ||
                    std::holds_alternative<SliceChange>(input.value) ||
                    std::holds_alternative<NodeChange>(input.value) ||
                    std::holds_alternative<FeedChange>(input.value);
  return kube ? Edge::kKube : Edge::kProbe;
}

struct SecondEngine {
  explicit SecondEngine(const Simulation& world)
      : engine(HeaderOf(world.scenario()), world.agent_started(), Engine::Options{}, nullptr,
               [this](const Connection& connection) { judged.push_back(connection); }) {}
  std::vector<Connection> judged;
  Engine engine;
};

TEST(WorldReplayTest, ReplayJudgesAsTheLiveEngineDid) {
  Simulation world(Everything(), 7, {.keep_inputs = true});
  world.Run();
  SecondEngine second(world);
  for (const Input& input : world.inputs()) ASSERT_TRUE(second.engine.Replay(input).ok());
  second.engine.Finish();
  EXPECT_EQ(TextOfAll(second.judged), TextOfAll(world.judged()));
  EXPECT_EQ(testing::TextOf(*second.engine.MakeReport()),
            testing::TextOf(*world.engine().MakeReport()));
}

// Each edge lags behind by up to two seconds, now more, now less, and posts what has gathered in
// any order.
TEST(WorldOrderTest, OrderOfDeliveryChangesNothing) {
  Simulation world(Everything(), 8, {.keep_inputs = true});
  world.Run();
  const std::string expected = TextOfAll(world.judged());
  for (uint64_t order = 1; order <= 5; ++order) {
    Random random(order);
    SecondEngine second(world);
    std::vector<Input> gathered[kEdges];
    for (const Input& input : world.inputs()) {
      for (size_t edge = 0; edge < kEdges; ++edge) {
        std::vector<Input>& inputs = gathered[edge];
        const bool overdue = !inputs.empty() && input.observed - inputs[0].observed > Span(2);
        if (!overdue && !random.Chance(0.02)) continue;
        // What bears one stamp keeps its order, as it does inside an edge.
        std::vector<std::vector<Input>> groups;
        for (Input& one : inputs) {
          if (groups.empty() || groups.back()[0].observed != one.observed) groups.emplace_back();
          groups.back().push_back(std::move(one));
        }
        inputs.clear();
        random.Shuffle(groups);
        for (std::vector<Input>& group : groups) {
          for (Input& one : group) second.engine.Post({static_cast<Edge>(edge), std::move(one)});
        }
        second.engine.Post({static_cast<Edge>(edge), input.observed});
      }
      second.engine.Advance();
      gathered[static_cast<size_t>(EdgeOf(input))].push_back(input);
    }
    for (size_t edge = 0; edge < kEdges; ++edge) {
      for (Input& one : gathered[edge]) {
        second.engine.Post({static_cast<Edge>(edge), std::move(one)});
      }
    }
    second.engine.Finish();
    EXPECT_EQ(TextOfAll(second.judged), expected) << "order " << order;
  }
}

}  // namespace
}  // namespace phantomd::world
