// How long each proxy went on believing in what a rollout took away.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agent/ledger/change_windows.h"
#include "tests/ledger/ledger_scene.h"

namespace phantomd {
namespace {

using ::phantomd::testing::At;
using ::phantomd::testing::Ip;
using ::phantomd::testing::LedgerScene;

// Catalog goes from v1 (a, b) to v2 (c, d). Proxy p drops a between 101.00 and 101.05 s, q never
// (until a test says so).
class WindowsTest : public ::testing::Test {
 protected:
  WindowsTest() {
    scene_.Runs(10, "a", "10.0.0.1", "v1");
    scene_.Runs(11, "b", "10.0.0.2", "v1");
    for (const char* proxy : {"p", "q"}) {
      scene_.Proxy(proxy).Complete(20, "catalog: 10.0.0.1:80 10.0.0.2:80");
    }
    scene_.Runs(90, "c", "10.0.0.3", "v2");
    scene_.Leaves(100, "a");
    scene_.Proxy("p").Changed(100.5, "");
    scene_.Proxy("q").Changed(100.5, "");
    scene_.Proxy("p").Changed(101.00, "");
    scene_.Proxy("p").Changed(101.05, "catalog: 10.0.0.2:80 10.0.0.3:80");
    scene_.Dies(105, "a");
  }

  WindowFigures Window(const std::string& proxy, double now, const std::string& pod = "a") {
    for (const WindowFigures& window : scene_.Figures(pod, now).windows) {
      if (window.proxy == ProxyId(proxy)) return window;
    }
    return {};
  }
  uint64_t Observed() {
    uint64_t count = 0;
    for (const auto& cell : scene_.ledger.Cells().windows) count += cell.histogram.count;
    return count;
  }
  BootTime Withdrawn(const std::string& pod) {
    return scene_.lifecycle.WithdrawnBounds(scene_.Handle(pod)).not_after -
           std::chrono::milliseconds(100);
  }

  LedgerScene scene_;
};

TEST_F(WindowsTest, OpensWithTheWithdrawalAndClosesBetweenTwoPolls) {
  scene_.Update(106);
  const WindowFigures window = Window("p", 106);
  EXPECT_EQ(window.opened, Withdrawn("a"));
  // The poll received at 101.00 was asked for at 100.99.
  EXPECT_EQ(window.closed, At(101.02));
  EXPECT_EQ(window.closed_error, At(101.05) - At(101.02));
  EXPECT_FALSE(window.last_connection.is_set());
}

TEST_F(WindowsTest, AProxyThatStillBelievesIsOpenAndComesFirst) {
  scene_.Update(130);
  const ChangeFigures figures = scene_.Figures("a", 130);
  ASSERT_EQ(figures.windows.size(), 2u);
  EXPECT_EQ(figures.windows[0].proxy, ProxyId("q"));
  EXPECT_FALSE(figures.windows[0].closed.is_set());
  EXPECT_EQ(figures.window_max, At(130) - Withdrawn("a"));
  EXPECT_EQ(figures.window_p50, At(101.02) - Withdrawn("a"));
  EXPECT_FALSE(figures.finished.is_set());
}

TEST_F(WindowsTest, AnotherPodOfTheChangeOpensItAgain) {
  scene_.Proxy("q").Changed(102, "catalog: 10.0.0.2:80");
  scene_.Update(106);
  EXPECT_TRUE(scene_.Figures("a", 106).finished.is_set());
  scene_.Runs(109, "d", "10.0.0.4", "v2");
  scene_.Leaves(110, "b");
  scene_.Update(111);
  EXPECT_FALSE(Window("p", 111).closed.is_set());
  EXPECT_FALSE(scene_.Figures("a", 111).finished.is_set());
  scene_.Proxy("p").Changed(112.00, "");
  scene_.Proxy("p").Changed(112.05, "catalog: 10.0.0.3:80");
  EXPECT_EQ(Window("p", 113).opened, Withdrawn("a"));
  EXPECT_EQ(Window("p", 113).closed, At(112.02));
}

TEST_F(WindowsTest, FinishedWhenTheLastPodIsDeadAndTheLastProxyHasLetGo) {
  scene_.Proxy("q").Changed(107, "");
  scene_.Proxy("q").Changed(108, "catalog: 10.0.0.2:80");
  scene_.Update(109);
  const ChangeFigures figures = scene_.Figures("a", 109);
  EXPECT_EQ(figures.finished, Window("q", 109).closed);  // later than a's death
}

TEST_F(WindowsTest, NotFinishedWhileAPodStillRuns) {
  scene_.Proxy("q").Changed(102, "catalog: 10.0.0.2:80");
  scene_.Runs(109, "d", "10.0.0.4", "v2");
  scene_.Leaves(110, "b");
  scene_.Proxy("p").Changed(111, "catalog: 10.0.0.3:80");
  scene_.Proxy("q").Changed(111, "catalog: 10.0.0.3:80");
  EXPECT_FALSE(scene_.Figures("a", 115).finished.is_set());
  scene_.Dies(116, "b");
  EXPECT_TRUE(scene_.Figures("a", 120).finished.is_set());
}

TEST_F(WindowsTest, EachIsObservedOnceWhenNoPodCanJoinAnyMore) {
  for (double t = 106; t < 220; t += 1) scene_.Update(t);
  EXPECT_EQ(Observed(), 0u);
  for (double t = 220; t < 230; t += 1) scene_.Update(t);
  EXPECT_EQ(Observed(), 1u);  // q is still open
  scene_.Proxy("q").Changed(231, "catalog: 10.0.0.2:80");
  for (double t = 231; t < 240; t += 1) scene_.Update(t);
  EXPECT_EQ(Observed(), 2u);
  const MetricCells cells = scene_.ledger.Cells();
  ASSERT_EQ(cells.windows.size(), 1u);
  EXPECT_EQ(cells.windows[0].destination_ns, "shop");
  EXPECT_EQ(cells.windows[0].destination_workload, "catalog");
}

TEST_F(WindowsTest, ASupersededChangeIsFinalThoughAPodOfItLivesOn) {
  scene_.Runs(107, "d", "10.0.0.4", "v2");
  scene_.Leaves(108, "b");  // and never dies
  scene_.Proxy("p").Changed(109, "catalog: 10.0.0.3:80");
  scene_.Update(300);
  EXPECT_EQ(Observed(), 0u);
  scene_.Runs(301, "e", "10.0.0.5", "v3");
  scene_.Leaves(302, "c");
  ASSERT_TRUE(scene_.ChangeOf("a", 303).superseded.is_set());
  scene_.Update(303);
  EXPECT_EQ(Observed(), 1u);  // p's window of the first change
}

TEST_F(WindowsTest, OverlappingRolloutsHaveWindowsOfTheirOwn) {
  scene_.Runs(107, "e", "10.0.0.5", "v3");
  scene_.Leaves(108, "c");
  scene_.Proxy("p").Changed(109, "catalog: 10.0.0.2:80");
  scene_.Update(110);
  EXPECT_EQ(Window("p", 110, "a").closed, At(101.02));
  EXPECT_EQ(Window("p", 110, "c").opened, Withdrawn("c"));
  EXPECT_TRUE(Window("p", 110, "c").closed.is_set());
  EXPECT_FALSE(Window("q", 110, "c").opened.is_set());  // q never learned of c: no window
  EXPECT_EQ(scene_.Figures("c", 110).windows.size(), 1u);
}

TEST_F(WindowsTest, AProxyThatEndsClosesItsWindow) {
  scene_.Proxy("q").Changed(119.9, "");
  scene_.ProxyEnds(120, "q");
  scene_.Update(121);
  const WindowFigures window = Window("q", 121);
  EXPECT_EQ(window.closed + window.closed_error, At(120));
  EXPECT_EQ(window.closed - window.closed_error, At(119.89));
  EXPECT_TRUE(scene_.Figures("a", 121).finished.is_set());
}

TEST_F(WindowsTest, AProxyThatNeverBelievedHasAWindowOnlyIfItConnected) {
  scene_.Proxy("r").Complete(50, "other: 10.9.9.9:80");
  scene_.Update(106);
  EXPECT_FALSE(Window("r", 106).opened.is_set());
  scene_.Count("r", 107, "a", DestinationClass::kDead);
  const WindowFigures window = Window("r", 110);
  EXPECT_EQ(window.opened, Withdrawn("a"));
  EXPECT_EQ(window.closed, At(107));
  EXPECT_EQ(window.last_connection, At(107));
  EXPECT_EQ(window.phantoms, 1u);
}

TEST_F(WindowsTest, AWindowOfConnectionsAloneGoesOnWithThem) {
  scene_.Proxy("r").Complete(50, "other: 10.9.9.9:80");
  scene_.Proxy("q").Changed(119.95, "");
  scene_.Proxy("q").Changed(120, "catalog: 10.0.0.2:80 10.0.0.3:80");
  scene_.Count("r", 107, "a", DestinationClass::kDead);
  scene_.Update(300);  // settled
  ASSERT_TRUE(scene_.Figures("a", 300).finished.is_set());
  scene_.Count("r", 400, "a", DestinationClass::kDead);
  const WindowFigures window = Window("r", 410);
  EXPECT_EQ(window.closed, At(400));
  EXPECT_EQ(window.last_connection, At(400));
  EXPECT_EQ(Window("q", 410).closed + Window("q", 410).closed_error, At(120))
      << "what was believed ended when it ended";
}

TEST_F(WindowsTest, TheWindowOfAProxyThatLeftStaysWhileAnotherKeepsTheRolloutOpen) {
  scene_.ProxyEnds(120, "p");
  scene_.Update(1500);  // the table of proxies has long forgotten p
  EXPECT_TRUE(Window("p", 1500).closed.is_set());
  EXPECT_FALSE(Window("q", 1500).closed.is_set());
  EXPECT_EQ(scene_.Figures("a", 1500).windows.size(), 2u);
}

TEST_F(WindowsTest, CountsOfAWindowAreThoseOfTheProxyItself) {
  scene_.Count("p", 100.5, "a", DestinationClass::kWithdrawn);
  scene_.Count("p", 106, "a", DestinationClass::kDead);
  LedgerScene::Facts bypass;
  bypass.initiator = Initiator::kApplication;
  bypass.cause = Cause::kBypass;
  scene_.Count("p", 107, "a", DestinationClass::kDead, bypass);
  const WindowFigures window = Window("p", 110);
  EXPECT_EQ(window.attempts, 2u);
  EXPECT_EQ(window.phantoms, 1u);
  EXPECT_EQ(window.last_connection, At(106));
  EXPECT_EQ(scene_.Figures("a", 110).dead, 2u);
}

TEST_F(WindowsTest, AnAddressGivenBackToTheSameServiceEndsTheWindow) {
  // q never drops 10.0.0.1, and at 150 it belongs to catalog again.
  scene_.Update(149);
  EXPECT_FALSE(Window("q", 149).closed.is_set());
  scene_.Runs(150, "c2", "10.0.0.1", "v2");
  scene_.Update(151);
  const WindowFigures window = Window("q", 151);
  EXPECT_TRUE(window.closed.is_set());
  EXPECT_LE(window.closed - window.closed_error, At(150));
  EXPECT_EQ(window.closed + window.closed_error, At(150));
}

TEST_F(WindowsTest, AnAddressGivenToAnotherWorkloadKeepsTheWindowOpen) {
  scene_.Runs(150, "cart", "10.0.0.1", "v1", "cart");
  scene_.Update(160);
  EXPECT_TRUE(Window("q", 160).opened.is_set());
  EXPECT_FALSE(Window("q", 160).closed.is_set());
}

TEST_F(WindowsTest, ABeliefInTheNextOwnerIsNotTheOldOnes) {
  // p dropped it at 101 and lists it again for its next owner.
  scene_.Runs(150, "c2", "10.0.0.1", "v2");
  scene_.Proxy("p").Changed(151, "catalog: 10.0.0.1:80 10.0.0.2:80");
  scene_.Update(152);
  EXPECT_EQ(Window("p", 152).closed, At(101.02));
}

TEST_F(WindowsTest, WhoLearnsAnAddressForItsNextOwnerHasNoWindow) {
  scene_.Proxy("r").Complete(50, "catalog: 10.0.0.2:80");
  scene_.Runs(150, "c2", "10.0.0.1", "v2");
  scene_.Proxy("r").Changed(151, "catalog: 10.0.0.1:80 10.0.0.2:80");
  scene_.Update(152);
  EXPECT_FALSE(Window("r", 152).opened.is_set());
}

TEST_F(WindowsTest, ASettledChangeThatGetsAnotherPodIsLookedAtAgain) {
  scene_.Proxy("q").Changed(107, "catalog: 10.0.0.2:80");
  scene_.Update(250);
  EXPECT_EQ(Observed(), 2u);
  scene_.Leaves(300, "b");
  WorkloadChange change = scene_.ChangeOf("a", 301);
  change.pods.push_back(scene_.Handle("b"));
  const ChangeFigures figures =
      scene_.ledger.FiguresOf(change, scene_.lifecycle, scene_.belief, At(301));
  ASSERT_EQ(figures.windows.size(), 2u);
  EXPECT_FALSE(figures.windows[0].closed.is_set());
}

TEST_F(WindowsTest, SettledWindowsStayThoughTheBeliefIsForgotten) {
  scene_.Proxy("q").Changed(107, "catalog: 10.0.0.2:80");
  scene_.Update(250);
  const WindowFigures before = Window("p", 250);
  const BootTime finished = scene_.Figures("a", 250).finished;
  scene_.belief.Compact(At(400));
  EXPECT_TRUE(scene_.belief.HistoryOf(Ip("10.0.0.1")).empty());
  scene_.Count("p", 252, "a", DestinationClass::kDead);
  const WindowFigures after = Window("p", 400);
  EXPECT_EQ(after.closed, before.closed);
  EXPECT_EQ(after.phantoms, 1u);
  EXPECT_EQ(scene_.Figures("a", 400).finished, finished);
}

TEST_F(WindowsTest, AStuckProxyKeepsTheRolloutOpen) {
  for (double t = 106; t < 1000; t += 15) scene_.Proxy("q").Changed(t, "");
  scene_.Update(1000);
  EXPECT_FALSE(scene_.Figures("a", 1000).finished.is_set());
  EXPECT_EQ(scene_.Figures("a", 1000).window_max, At(1000) - Withdrawn("a"));
}

}  // namespace
}  // namespace phantomd
