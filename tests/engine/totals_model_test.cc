// Whatever happens, after every single input: attempts are the sum over classes, in all, per proxy
// and per rollout; and each attempt is counted once, across relists, restarts and reordering.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "agent/verdict/names.h"
#include "tests/engine/random_scene.h"
#include "tests/engine/scene_run.h"
#include "tests/testing/counts.h"
#include "tests/testing/seeds.h"

namespace phantomd::testing {
namespace {

// What was told and judged so far, kept another way than the ledger does.
struct Tally {
  uint64_t told = 0;
  std::set<uint64_t> cookies;
  std::map<std::string, uint64_t> by_class;
  std::map<ProxyId, uint64_t> by_proxy;
  std::map<PodUid, std::map<DestinationClass, uint64_t>> by_last_holder;

  void Judged(const Connection& c) {
    EXPECT_TRUE(cookies.insert(c.socket_cookie).second) << "judged twice: " << c.socket_cookie;
    ++by_class[std::string(NameOf(c.destination_class))];
    ++by_proxy[c.proxy_id];
    if (MustHaveCause(c.destination_class)) {
      ++by_last_holder[c.last_holder.pod.uid][c.destination_class];
    }
  }
};

void Check(const Report& report, const Tally& tally, bool cells_expire) {
  const StatusReport& status = report.status;
  EXPECT_EQ(status.attempts, tally.cookies.size());
  EXPECT_EQ(Sum(status.attempts_by_class), status.attempts);
  EXPECT_EQ(Sum(status.not_judged_by_initiator), status.not_judged);
  EXPECT_EQ(status.attempts + status.not_judged + status.held, tally.told);
  EXPECT_EQ(Counts(tally.by_class.begin(), tally.by_class.end()), status.attempts_by_class);
  uint64_t of_cells = 0;
  for (const auto& cell : report.metrics.attempts) of_cells += cell.count;
  // Series of proxies that nobody ever told of are forgotten with the horizon.
  EXPECT_LE(of_cells, status.attempts);
  if (!cells_expire) {
    EXPECT_EQ(of_cells, status.attempts);
  }
  for (const ProxyReport& proxy : report.proxies) {
    const auto judged = tally.by_proxy.find(proxy.proxy.id);
    EXPECT_EQ(proxy.attempts, judged == tally.by_proxy.end() ? 0 : judged->second);
  }
  // Which rollout took a pod away may be settled later: the report says how it stands now.
  std::map<std::string, std::map<DestinationClass, uint64_t>> by_rollout;
  for (const auto& [uid, classes] : tally.by_last_holder) {
    const auto rollout = report.rollout_of.find(uid);
    if (rollout == report.rollout_of.end()) continue;
    for (const auto& [c, count] : classes) by_rollout[rollout->second][c] += count;
  }
  for (const RolloutReport& r : report.rollouts) {
    auto& classes = by_rollout[r.name];
    EXPECT_EQ(r.attempts, r.withdrawn + r.dead + r.reused + r.other) << r.name;
    EXPECT_EQ(r.withdrawn, classes[DestinationClass::kWithdrawn]) << r.name;
    EXPECT_EQ(r.dead, classes[DestinationClass::kDead]) << r.name;
    EXPECT_EQ(r.reused, classes[DestinationClass::kReused]) << r.name;
    for (const Counts* counts : {&r.by_cause, &r.by_outcome, &r.by_layer}) {
      EXPECT_EQ(Sum(*counts), r.dead + r.reused) << r.name;
    }
    uint64_t attempts = 0, phantoms = 0, stranded = 0;
    for (const ProxyWindow& window : r.windows) {
      attempts += window.attempts;
      phantoms += window.phantoms;
    }
    EXPECT_LE(attempts, r.attempts) << r.name;
    EXPECT_LE(phantoms, r.dead + r.reused) << r.name;
    for (const RolloutReport::Stranded& s : r.stranded_after) stranded += s.count;
    EXPECT_EQ(stranded, r.stranded) << r.name;
    EXPECT_EQ(Sum(r.stranded_by_end), r.stranded) << r.name;
  }
}

class TotalsModelTest : public ::testing::TestWithParam<uint64_t> {};

TEST_P(TotalsModelTest, AttemptsAreTheSumOverClassesAfterEveryInput) {
  std::mt19937_64 random(GetParam());
  const Scene scene = RandomScene(GetParam());
  const bool cells_expire = scene.header.settings.horizon < std::chrono::minutes(5);
  Tally tally;
  const auto judged = [&](const Connection& c) { tally.Judged(c); };
  auto engine =
      std::make_unique<Engine>(scene.header, Seconds(0.5), Engine::Options{}, nullptr, judged);
  for (const Scene::Event& event : scene.Events()) {
    ASSERT_TRUE(engine->Replay(event.input).ok());
    tally.told += std::holds_alternative<Attempt>(event.input.value) ? 1 : 0;
    Check(*engine->MakeReport(), tally, cells_expire);
    if (HasFailure()) FAIL() << "seed " << GetParam();
    if (std::uniform_int_distribution<>(0, 99)(random) > 0) continue;
    // The agent restarts.
    std::vector<Input> exported;
    engine->Export([&](const Input& input) { exported.push_back(input); });
    engine = std::make_unique<Engine>(std::get<Header>(exported[0].value), exported[0].observed,
                                      Engine::Options{}, nullptr, judged);
    for (size_t i = 1; i < exported.size(); ++i) ASSERT_TRUE(engine->Replay(exported[i]).ok());
  }
  engine->Finish();
  const auto report = engine->MakeReport();
  Check(*report, tally, cells_expire);
  EXPECT_EQ(report->status.held, 0u);
  EXPECT_GT(tally.by_last_holder.size(), 3u) << "a scene in which nothing departs proves nothing";
}

INSTANTIATE_TEST_SUITE_P(Seeds, TotalsModelTest,
                         ::testing::Range<uint64_t>(1, 1 + testing::Seeds(40)));

}  // namespace
}  // namespace phantomd::testing
