// What is counted where, and that nothing is counted twice or lost.
#include "agent/ledger/ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "agent/ledger/names.h"
#include "fmt/format.h"
#include "tests/ledger/ledger_scene.h"

namespace phantomd {
namespace {

using ::phantomd::testing::At;
using ::phantomd::testing::LedgerScene;
using ::testing::ElementsAre;
using ::testing::Pair;

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() : LedgerTest(Ledger::Options{}) {}
  explicit LedgerTest(Ledger::Options options) : scene_(options) {
    scene_.Runs(10, "a", "10.0.0.1", "v1");
    scene_.Runs(90, "c", "10.0.0.3", "v2");
    scene_.Leaves(100, "a");
    scene_.Dies(105, "a");
  }
  LedgerScene scene_;
};

TEST_F(LedgerTest, FiguresOfARolloutAreThoseOfItsPods) {
  LedgerScene::Facts refused;
  refused.outcome = Outcome::kRefused;
  refused.wait = 0.1;
  refused.cause = Cause::kAfterRemoval;
  scene_.Count("p", 99, "", DestinationClass::kLive);
  scene_.Count("p", 101, "a", DestinationClass::kWithdrawn);
  scene_.Count("p", 106, "a", DestinationClass::kDead);
  scene_.Count("p", 106, "a", DestinationClass::kDead, refused);
  scene_.Count("q", 107, "a", DestinationClass::kReused);
  scene_.Count("q", 108, "a", DestinationClass::kUnknown);
  const ChangeFigures figures = scene_.Figures("a", 120);
  EXPECT_EQ(figures.withdrawn, 1u);
  EXPECT_EQ(figures.dead, 2u);
  EXPECT_EQ(figures.reused, 1u);
  EXPECT_EQ(figures.other, 1u);
  EXPECT_THAT(figures.by_cause,
              ElementsAre(Pair(Cause::kStaleEds, 2), Pair(Cause::kAfterRemoval, 1)));
  EXPECT_THAT(figures.by_outcome,
              ElementsAre(Pair(Outcome::kRefused, 1), Pair(Outcome::kAbandoned, 2)));
  EXPECT_THAT(figures.by_layer, ElementsAre(Pair(Layer::kL4, 3)));
  EXPECT_EQ(figures.wait_max, std::chrono::seconds(1));
  EXPECT_EQ(figures.wait_total, std::chrono::milliseconds(2100));
  EXPECT_NEAR(static_cast<double>(figures.wait_p50.count()), 1e9, 1e7);
}

TEST_F(LedgerTest, OtherIsCountedOnlyBehindTheWithdrawalOrTheEnd) {
  const struct {
    double t;
    DestinationClass destination;
    bool withdrawn;
    uint64_t other;
  } kCases[] = {
      {98, DestinationClass::kUnknown, false, 0},  // the verdict knows no withdrawal before it
      {101, DestinationClass::kUnknown, true, 1},
      {102, DestinationClass::kLive, true, 2},      // in service again
      {130, DestinationClass::kUnknown, false, 3},  // never withdrawn, but dead
  };
  for (const auto& c : kCases) {
    LedgerScene::Facts facts;
    facts.withdrawn = c.withdrawn;
    scene_.Count("p", c.t, "a", c.destination, facts);
    EXPECT_EQ(scene_.Figures("a", 140).other, c.other) << c.t;
  }
}

TEST_F(LedgerTest, OnlyWithdrawnDeadAndReusedConnectionsAreKept) {
  scene_.Count("p", 99, "", DestinationClass::kLive);
  scene_.Count("p", 101, "a", DestinationClass::kWithdrawn);
  scene_.Count("p", 102, "", DestinationClass::kExternal);
  scene_.Count("p", 103, "a", DestinationClass::kUnknown);
  scene_.Count("p", 106, "a", DestinationClass::kDead);
  const ConnectionChunks chunks = scene_.ledger.Connections();
  ASSERT_EQ(chunks.size(), 1u);
  ASSERT_EQ(chunks[0]->size(), 2u);
  const Connection& connection = *(*chunks[0])[1];
  EXPECT_EQ(connection.sequence, 2u);
  EXPECT_EQ(connection.proxy_id, ProxyId("p"));
  EXPECT_EQ(connection.proxy_name, "shop/p");
  EXPECT_EQ(connection.started, At(106));
  EXPECT_EQ(connection.duration, std::chrono::seconds(1));
  EXPECT_EQ(connection.destination_class, DestinationClass::kDead);
  EXPECT_EQ(connection.cause, Cause::kStaleEds);
  EXPECT_EQ(connection.last_holder.pod.name, "a");
  EXPECT_EQ(connection.last_holder.departure, Departure::kRollout);
  EXPECT_TRUE(connection.last_holder.withdrawn.is_set());
  EXPECT_TRUE(connection.last_holder.released_not_after.is_set());
  EXPECT_LE(connection.last_holder.released_not_before, connection.last_holder.released_not_after);
  EXPECT_FALSE(connection.last_holder.evidence.empty());
  EXPECT_TRUE(connection.current_holder.pod.uid.empty());
  EXPECT_EQ(connection.since_withdrawn, std::chrono::seconds(1));
}

TEST_F(LedgerTest, CellsCarryTheLabelsOfSourceAndLastHolder) {
  scene_.Count("p", 106, "a", DestinationClass::kDead);
  scene_.Count("", 107, "a", DestinationClass::kDead);
  const MetricCells cells = scene_.ledger.Cells();
  ASSERT_EQ(cells.connections.size(), 2u);
  EXPECT_EQ(cells.connections[0].source, SourceLabels{});
  EXPECT_EQ(cells.connections[1].source, (SourceLabels{"shop", "webapp", "p"}));
  EXPECT_EQ(cells.connections[1].destination, (DestinationLabels{"shop", "catalog", "v1"}));
  ASSERT_EQ(cells.waits.size(), 2u);
  EXPECT_EQ(cells.waits[1].source_workload, "webapp");
  EXPECT_EQ(cells.waits[1].histogram.count, 1u);
}

TEST_F(LedgerTest, NotJudgedAttemptsAreCountedApart) {
  Attempt attempt;
  attempt.initiator = Initiator::kProxyControl;
  scene_.ledger.CountNotJudged(attempt);
  attempt.initiator = Initiator::kIntercepted;
  scene_.ledger.CountNotJudged(attempt);
  scene_.ledger.CountNotJudged(attempt);
  EXPECT_THAT(scene_.ledger.not_judged(),
              ElementsAre(Pair(Initiator::kIntercepted, 2), Pair(Initiator::kProxyControl, 1)));
  EXPECT_EQ(scene_.ledger.attempts(), 0u);
  EXPECT_TRUE(scene_.ledger.Cells().attempts.empty());
}

// "RESET 1 4s, ": how they ended, how many, and how long after the pod at most.
std::string Stranded(const ChangeFigures& figures) {
  std::string text;
  for (const auto& [how, after] : figures.stranded) {
    text += fmt::format("{} {} {}s, ", Name(how), after.count(),
                        std::chrono::duration_cast<std::chrono::seconds>(after.max()).count());
  }
  return text;
}

TEST_F(LedgerTest, StrandedConnectionsBelongToThePodTheyOutlived) {
  ConnectionEnd end;
  end.how = ConnectionEnd::How::kReset;
  scene_.ledger.CountStranded(end, scene_.Handle("a"), std::chrono::seconds(4));
  end.how = ConnectionEnd::How::kStalled;
  scene_.ledger.CountStranded(end, scene_.Handle("a"), std::chrono::seconds(2));
  scene_.ledger.CountStranded(end, PodHandle::kNone, Nanos(0));
  const ChangeFigures figures = scene_.Figures("a", 120);
  EXPECT_EQ(Stranded(figures), "RESET 1 4s, STALLED 1 2s, ");
  EXPECT_EQ(figures.withdrawn + figures.dead + figures.reused + figures.other, 0u);
}

TEST_F(LedgerTest, ASilentConnectionIsCountedOnceByTheEndItCameTo) {
  ConnectionEnd end;
  end.how = ConnectionEnd::How::kStalled;
  for (const uint64_t socket : {1, 2}) {
    end.socket_cookie = socket;
    scene_.ledger.CountStranded(end, scene_.Handle("a"), std::chrono::seconds(2));
  }
  EXPECT_EQ(Stranded(scene_.Figures("a", 120)), "STALLED 2 2s, ");
  end.how = ConnectionEnd::How::kExpired;
  scene_.ledger.CountStranded(end, scene_.Handle("a"), std::chrono::seconds(900));
  EXPECT_EQ(Stranded(scene_.Figures("a", 120)), "STALLED 1 2s, EXPIRED 1 900s, ");
  scene_.ledger.Compact(At(0), At(3600));
  EXPECT_EQ(Stranded(scene_.Figures("a", 120)), "STALLED 1 2s, EXPIRED 1 900s, ")
      << "an end that nobody told stays a stall";
}

TEST_F(LedgerTest, SeriesOfAGoneProxyGoTenMinutesLater) {
  scene_.Count("p", 106, "a", DestinationClass::kDead);
  scene_.Count("q", 106, "a", DestinationClass::kDead);
  scene_.ledger.ProxyGone(ProxyId("p"), At(200));
  scene_.ledger.Compact(At(0), At(799));
  EXPECT_EQ(scene_.ledger.Cells().attempts.size(), 2u);
  scene_.ledger.Compact(At(0), At(800));
  const MetricCells cells = scene_.ledger.Cells();
  ASSERT_EQ(cells.attempts.size(), 1u);
  EXPECT_EQ(cells.attempts[0].source.pod, "q");
  EXPECT_EQ(cells.connections.size(), 1u);
  EXPECT_EQ(scene_.ledger.attempts(), 2u);  // totals stay
  EXPECT_EQ(scene_.Figures("a", 810).dead, 2u);
  EXPECT_EQ(scene_.ledger.FiguresOf(ProxyId("p")).attempts, 0u);
}

TEST_F(LedgerTest, SeriesOfAProxyThatReturnedStay) {
  scene_.Count("p", 106, "a", DestinationClass::kDead);
  scene_.ledger.ProxyGone(ProxyId("p"), At(200));
  scene_.ledger.ProxyReturned(ProxyId("p"));
  scene_.ledger.Compact(At(0), At(900));
  EXPECT_EQ(scene_.ledger.Cells().attempts.size(), 1u);
}

TEST_F(LedgerTest, ARestartedProxyOfThePodKeepsItsSeries) {
  Proxy first = scene_.Described("p"), second = scene_.Described("p");
  second.id = ProxyId("p-again");
  Attempt attempt;
  attempt.initiator = Initiator::kProxy;
  attempt.outcome = Outcome::kEstablished;
  Verdict live;
  live.destination = DestinationClass::kLive;
  scene_.ledger.Count(attempt, &first, live, scene_.lifecycle, At(50));
  scene_.ledger.Count(attempt, &second, live, scene_.lifecycle, At(60));
  scene_.ledger.ProxyGone(first.id, At(60));
  scene_.ledger.Compact(At(0), At(2000));
  const MetricCells cells = scene_.ledger.Cells();
  ASSERT_EQ(cells.attempts.size(), 1u);
  EXPECT_EQ(cells.attempts[0].count, 2u);  // never falls
}

TEST_F(LedgerTest, UnknownProxiesAreForgottenWithTheHorizon) {
  scene_.Count("", 106, "a", DestinationClass::kDead);
  scene_.ledger.Compact(At(110), At(110));
  EXPECT_EQ(scene_.ledger.Cells().attempts.size(), 1u);  // counted at 110
  scene_.ledger.Compact(At(111), At(111));
  EXPECT_TRUE(scene_.ledger.Cells().attempts.empty());
}

TEST_F(LedgerTest, FiguresOfForgottenPodsGo) {
  scene_.Count("p", 106, "a", DestinationClass::kDead);
  const WorkloadChange change = scene_.ChangeOf("a", 120);
  scene_.lifecycle.Compact(At(5000));
  ASSERT_EQ(scene_.lifecycle.Pod(change.pods.at(0)), nullptr);
  scene_.ledger.Compact(At(5000), At(9000));
  scene_.Update(9000);
  EXPECT_EQ(scene_.ledger.FiguresOf(change, scene_.lifecycle, scene_.belief, At(9000)).dead, 0u);
}

class SmallRingTest : public LedgerTest {
 protected:
  SmallRingTest() : LedgerTest({.ring = 3}) {}
};

TEST_F(SmallRingTest, DroppedConnectionsAreStillCounted) {
  for (int i = 0; i < 10; ++i) scene_.Count("p", 106 + i, "a", DestinationClass::kDead);
  EXPECT_EQ(scene_.ledger.dropped(), 7u);
  EXPECT_EQ((*scene_.ledger.Connections()[0])[0]->sequence, 8u);
  EXPECT_EQ(scene_.Figures("a", 150).dead, 10u);
}

TEST(LedgerModelTest, SumsOverClassesEqualAttemptsEverywhere) {
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LedgerScene scene({.ring = 50, .max_cells = seed % 2 == 0 ? 4u : 20'000u});
    scene.Runs(10, "a", "10.0.0.1", "v1");
    scene.Runs(11, "b", "10.0.0.2", "v1");
    scene.Runs(90, "c", "10.0.0.3", "v2");
    scene.Leaves(100, "a");
    scene.Leaves(101, "b");
    std::mt19937 random(seed);
    std::map<std::string, uint64_t> of_proxy, of_pod;
    uint64_t kept = 0, total = 0;
    for (int i = 0; i < 3000; ++i) {
      const auto destination = static_cast<DestinationClass>(1 + random() % 6);
      const std::string proxy(1, static_cast<char>('p' + random() % 4));
      const std::string pod = random() % 3 == 0 ? "" : random() % 2 == 0 ? "a" : "b";
      LedgerScene::Facts facts;
      facts.outcome = static_cast<Outcome>(1 + random() % 8);
      facts.cause = static_cast<Cause>(1 + random() % 8);
      facts.initiator = random() % 5 == 0 ? Initiator::kApplication : Initiator::kProxy;
      scene.Count(proxy, 102 + i, pod, destination, facts);
      ++total;
      ++of_proxy[proxy];
      if (!pod.empty()) ++of_pod[pod];
      kept += destination == DestinationClass::kWithdrawn || IsPhantom(destination);
    }
    EXPECT_EQ(scene.ledger.attempts(), total);
    uint64_t classes = 0;
    for (const auto& [destination, count] : scene.ledger.by_class()) classes += count;
    EXPECT_EQ(classes, total);
    for (const auto& [proxy, count] : of_proxy) {
      const ProxyFigures figures = scene.ledger.FiguresOf(ProxyId(proxy));
      uint64_t sum = 0;
      for (const auto& [destination, counted] : figures.by_class) sum += counted;
      EXPECT_EQ(figures.attempts, count);
      EXPECT_EQ(sum, count);
    }
    const WorkloadChange& change = scene.ChangeOf("a", 200);
    ASSERT_EQ(change.pods.size(), 2u);
    const ChangeFigures figures =
        scene.ledger.FiguresOf(change, scene.lifecycle, scene.belief, At(5000));
    EXPECT_EQ(figures.withdrawn + figures.dead + figures.reused + figures.other,
              of_pod["a"] + of_pod["b"]);
    uint64_t phantoms[3] = {0, 0, 0};
    for (const auto& [key, count] : figures.by_cause) phantoms[0] += count;
    for (const auto& [key, count] : figures.by_outcome) phantoms[1] += count;
    for (const auto& [key, count] : figures.by_layer) phantoms[2] += count;
    for (const uint64_t sum : phantoms) EXPECT_EQ(sum, figures.dead + figures.reused);
    uint64_t attempt_cells = 0, connection_cells = 0, waits = 0, ring = 0;
    const MetricCells cells = scene.ledger.Cells();
    for (const auto& cell : cells.attempts) attempt_cells += cell.count;
    for (const auto& cell : cells.connections) connection_cells += cell.count;
    for (const auto& cell : cells.waits) waits += cell.histogram.count;
    for (const auto& chunk : scene.ledger.Connections()) ring += chunk->size();
    EXPECT_EQ(attempt_cells, total);
    EXPECT_EQ(connection_cells, kept);
    EXPECT_EQ(waits, kept);
    EXPECT_EQ(ring + scene.ledger.dropped(), kept);
  }
}

}  // namespace
}  // namespace phantomd
