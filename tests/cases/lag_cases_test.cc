// Public cases in which the endpoints were late: the proxy was told too late (lag, a stuck control
// plane), or the EndpointSlice itself was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "tests/cases/case_run.h"

namespace phantomd::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::Ge;
using ::testing::Le;
using ::testing::Pair;
using ::testing::SizeIs;

// The containers of each old pod exit 200 to 500 ms before ztunnel gets the delete, at 100
// connects/s to it. Without ambient (a sidecar that converges with the endpoints): none.
TEST(PublicCasesTest, PublicCase01_istio58514_ZtunnelLearnsOfTheDeleteAfterTheContainerExited) {
  CaseScript script(
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy ztunnel ztunnel\n@1 proxy web sidecar\n"
      "@2 pod a ip=10.0.0.1 rev=v1\n@2 pod b ip=10.0.0.2 rev=v1\n@2 pod c ip=10.0.0.3 rev=v1\n"
      "@2 slice s1 catalog a b c\n@3 sync\n"
      "@5 poll ztunnel catalog=a,b,c\n@5 poll web catalog=a,b,c\n");
  std::string ready = "n1 n2 n3";
  const double lag[] = {0.3, 0.4, 0.5};
  for (int i = 0; i < 3; ++i) {
    const char old_name = static_cast<char>('a' + i);
    const double t = 20.1 + 20 * i;  // the deletion request; the container exits 1.5 s later
    const double exit = t + 1.5, told = exit + lag[i];
    script.Tell(fmt::format(
        "@{0:.2f} pod n{1} ip=10.0.1.{1} rev=v2\n"
        "@{2:.2f} pod {3} del={2:.2f}\n"
        "@{4:.2f} end {3} at={5:.2f}\n@{6:.2f} pod {3} fin={5:.2f}\n@{7:.2f} pod {3} deleted\n",
        t - 5, i + 1, t, old_name, exit + 0.01, exit, exit + 0.2, exit + 0.6));
    std::string left;
    for (int k = i + 1; k < 3; ++k) left += fmt::format(" {}", static_cast<char>('a' + k));
    std::string fresh;
    for (int k = 0; k <= i; ++k) fresh += fmt::format(" n{}", k + 1);
    const auto listed = [](std::string text) {
      std::replace(text.begin(), text.end(), ' ', ',');
      return text.substr(text.empty() ? 0 : 1);
    };
    script.Tell(fmt::format(
        "@{0:.2f} slice s1 catalog {1}:terminating{2}{3}\n@{4:.2f} slice s1 catalog{2}{3}\n"
        // The sidecar has it as soon as the endpoint is withdrawn; ztunnel after `lag`.
        "@{0:.2f}..{5:.2f}/0.05 poll web catalog={7}\n"
        "@{0:.2f}..{6:.2f}/0.05 poll ztunnel catalog={1},{7}\n"
        "@{6:.2f} poll ztunnel catalog={7}\n"
        "@{8:.3f}..{9:.2f}/0.01 connect ztunnel {1} refused\n"
        "@{5:.2f} connect web n{10} established\n",
        t + 0.14, old_name, left, fresh, exit + 0.4, t + 1, told, listed(left + fresh),
        exit + 0.005, told, i + 1));
  }
  script.Tell("@90 tick\n");
  const CaseRun run(script);
  EXPECT_EQ(run.Verdicts("ztunnel"), "120 DEAD CERTAIN STALE_EDS REFUSED L4\n");
  EXPECT_EQ(run.Verdicts("web"), "3 LIVE CERTAIN ESTABLISHED L4\n");
  EXPECT_EQ(run.Rollouts(),
            "ROLLOUT shop/Deployment/catalog v1->v2: 3 pods, 0 withdrawn 120 dead 0 reused 0 "
            "other\n");
  std::map<std::string, int> per_pod;
  for (const Connection& c : run.judged()) {
    if (c.destination_class != DestinationClass::kDead) continue;
    ++per_pod[c.last_holder.pod.name];
    EXPECT_LE(InSeconds(c.since_dead), 0.5);
    EXPECT_EQ(c.last_holder.pod.revision, "v1");
  }
  EXPECT_THAT(per_pod, AllOf(SizeIs(3), Each(Pair(::testing::_, AllOf(Ge(30), Le(50))))));
}

// 350 pods scale to 180; the slices are updated 137 ms after the deletes, one gateway is told
// minutes later, the title's gateway 9 minutes later.
TEST(PublicCasesTest, PublicCase02_istio44985_AGatewayUsesAScaledDownPodForNineMinutes) {
  CaseScript script(
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy gw1 gateway\n@1 proxy gw2 gateway\n");
  std::string all, left, slice_all, slice_leaving, slice_left;
  for (int i = 0; i < 350; ++i) {
    script.Tell(fmt::format("@2 pod p{0} ip=10.0.{1}.{2} wl=Deployment/web node=n{0}\n", i, i / 250,
                            i % 250 + 1));
    const bool leaves = i >= 180;
    all += fmt::format(",p{}", i);
    slice_all += fmt::format(" p{}", i);
    slice_leaving += fmt::format(" p{}{}", i, leaves ? ":terminating" : "");
    if (leaves) continue;
    left += fmt::format(",p{}", i);
    slice_left += fmt::format(" p{}", i);
  }
  script.Tell(
      fmt::format("@2.5 slice s1 web{0}\n@3 sync\n"
                  "@10 poll gw1 web={3}\n@10 poll gw2 web={3}\n"
                  "@100.137 slice s1 web{1}\n@102.2 slice s1 web{2}\n"
                  "@110..340/10 poll gw1 web={3}\n@340..700/10 poll gw1 web={4}\n"
                  "@110..640/10 poll gw2 web={3}\n@640..700/10 poll gw2 web={4}\n"
                  "@700 tick\n",
                  slice_all, slice_leaving, slice_left, all.substr(1), left.substr(1)));
  for (int i = 180; i < 350; ++i) {
    script.Tell(fmt::format(
        "@100 pod p{0} del=100\n@102 pod p{0} fin=101.9\n@102.1 pod p{0} deleted\n", i));
  }
  script.Tell(
      "@120..341/20 connect gw1 p200 abandoned for=3\n"
      "@120..641/20 connect gw2 p201 abandoned for=3\n"
      "@101 connect gw2 p201 established\n@600..700/20 connect gw1 p5 established\n");
  const CaseRun run(script);
  EXPECT_EQ(
      run.Rollouts(),
      "SCALE_DOWN shop/Deployment/web v1->v1: 170 pods, 1 withdrawn 39 dead 0 reused 0 other\n");
  EXPECT_EQ(run.Windows(),
            "gw2 closed 635.00+-5.002, last 640.00, 28 attempts, 27 phantoms\n"
            "gw1 closed 335.00+-5.002, last 340.00, 12 attempts, 12 phantoms\n");
  EXPECT_EQ(run.Stale(), "");
  const RolloutReport& change = run.report().rollouts[0];
  EXPECT_NEAR(InSeconds(change.window_max), 535, 2) << "gw2 is the tail proxy";
  EXPECT_NEAR(InSeconds(change.window_p50), 235, 2);
}

// A push takes 10.12 s; the rolling update kills the old pod at once, or after preStop.
struct PreStop {
  double seconds;
  const char* verdicts;
  const char* window;
};
class PushOfTenSeconds : public ::testing::TestWithParam<PreStop> {};
TEST_P(PushOfTenSeconds, PublicCase06_istio7665_OnlyAPreStopLongerThanThePushHasNoPhantoms) {
  const double dies = 50 + GetParam().seconds;
  const CaseScript script(fmt::format(
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy web sidecar\n"
      "@2 pod old ip=10.0.0.1\n@2 slice s1 catalog old\n@3 sync\n@10..50/10 poll web catalog=old\n"
      "@49 pod new ip=10.0.0.2 rev=v2\n@49.5 slice s1 catalog old new\n"
      "@50.02 pod old del=50\n@50.05 slice s1 catalog old:terminating new\n"
      "@50.07..60.16/0.05 poll web catalog=old,new\n@60.17..61/0.05 poll web catalog=new\n"
      "@{0:.2f} end old at={0:.2f}\n@{1:.2f} pod old fin={0:.2f}\n@{2:.2f} pod old deleted\n"
      "@{2:.2f} slice s1 catalog new\n"
      "@50.6..{4:.2f}/2 connect web old established\n@{3:.2f}..60.1/2 connect web old refused\n"
      "@80 poll web catalog=new\n@90 tick\n",
      dies, dies + 0.1, dies + 0.3, dies + 0.6, std::min(dies, 60.1)));
  const CaseRun run(script);
  EXPECT_EQ(run.Verdicts(), GetParam().verdicts);
  EXPECT_EQ(run.Windows(), GetParam().window);
  // How long a preStop must be is the time from the withdrawal to the last connection.
  const ProxyWindow& window = run.report().rollouts.at(0).windows.at(0);
  EXPECT_NEAR(InSeconds(window.closed - window.opened), 10.12, 0.5);
  EXPECT_LE(InSeconds(window.last_connection - window.opened), 10.12);
}
INSTANTIATE_TEST_SUITE_P(
    PublicCasesTest, PushOfTenSeconds,
    ::testing::Values(PreStop{1.1,
                              "5 DEAD CERTAIN STALE_EDS REFUSED L4\n"
                              "1 WITHDRAWN CERTAIN STALE_EDS ESTABLISHED L4\n",
                              "web closed 60.14+-0.027, last 59.70, 6 attempts, 5 phantoms\n"},
                      PreStop{15, "5 WITHDRAWN CERTAIN STALE_EDS ESTABLISHED L4\n",
                              "web closed 60.14+-0.027, last 58.60, 5 attempts, 0 phantoms\n"}));

// A Deployment of five scales to zero; all five endpoints stay until the next push.
TEST(PublicCasesTest, PublicCase08_istio14336_FiveEndpointsRemainAtZeroReplicas) {
  CaseScript script("@1 node n1 ready cidr=10.60.0.0/16\n@1 proxy web sidecar\n@3 sync\n");
  for (int i = 1; i <= 5; ++i) {
    script.Tell(
        fmt::format("@2 pod id{0} ip=10.60.22.{0} wl=Deployment/identity\n"
                    "@30 pod id{0} del=30\n@31.3 pod id{0} fin=31\n@31.5 pod id{0} deleted\n"
                    "@4{0}..100/10 connect web id{0} abandoned for=1\n",
                    i));
  }
  script.Tell(
      "@2.1 slice s1 identity id1 id2 id3 id4 id5\n@31.6 slice s1 identity\n"
      "@10..120/10 poll web identity=id1,id2,id3,id4,id5\n");
  CaseScript scaled_up = script;
  script.Tell("@121 tick\n");
  const CaseRun at_zero(script);
  EXPECT_EQ(at_zero.Rollouts(),
            "SCALE_DOWN shop/Deployment/identity v1->v1: 5 pods, 0 withdrawn 30 dead 0 reused 0 "
            "other\n");
  EXPECT_EQ(at_zero.Verdicts(), "30 DEAD CERTAIN STALE_EDS ABANDONED L4\n");
  EXPECT_EQ(at_zero.Windows(), "web open, last 95.00, 30 attempts, 30 phantoms\n");
  EXPECT_EQ(at_zero.Stale(),
            "web 10.60.22.1 DEAD STALE_EDS\nweb 10.60.22.2 DEAD STALE_EDS\n"
            "web 10.60.22.3 DEAD STALE_EDS\nweb 10.60.22.4 DEAD STALE_EDS\n"
            "web 10.60.22.5 DEAD STALE_EDS\n");

  // Scaling up again triggers the push that ends it.
  scaled_up.Tell(
      "@125 pod id6 ip=10.60.22.6 wl=Deployment/identity\n@125.1 slice s1 identity id6\n"
      "@126..150/1 poll web identity=id6\n");
  const CaseRun after(scaled_up);
  EXPECT_EQ(after.Windows(), "web closed 118.00+-8.002, last 95.00, 30 attempts, 30 phantoms\n");
  EXPECT_EQ(after.Stale(), "");
}

// Cycles of delete :06.408, first error :10.236, the slice drops the address at :12.463: dead while
// the slice still lists it.
TEST(PublicCasesTest, PublicCase24_cilium48271_DeadTwoSecondsBeforeTheSliceDropsIt) {
  CaseScript script("@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy web sidecar\n@3 sync\n");
  const int cycles = 3;
  for (int i = 0; i < cycles; ++i) {
    const double t = 106.408 + 27 * i;
    script.Tell(
        fmt::format("@{0:.3f} pod p{1} ip=10.0.0.{1} rev=v{1}\n@{0:.3f} slice s{1} catalog p{1}\n"
                    "@{2:.3f}..{3:.3f}/0.1 poll web catalog=p{1}\n@{3:.3f} poll web catalog\n"
                    "@{4:.3f} pod p{1} del={4:.3f}\n"
                    "@{5:.3f}..{6:.3f}/0.5 connect web p{1} established\n"
                    "@{6:.3f}..{3:.3f}/0.5 connect web p{1} refused\n"
                    "@{7:.3f} end p{1} at={8:.3f}\n@{9:.3f} pod p{1} fin={8:.3f}\n"
                    "@{10:.3f} slice s{1} catalog\n@{11:.3f} pod p{1} deleted\n",
                    t - 10, i + 1, t - 5, t + 6.1, t, t + 0.328, t + 3.828, t + 3.81, t + 3.8,
                    t + 4, t + 6.055, t + 6.2));
  }
  script.Tell("@250 tick\n");
  const CaseRun run(script);
  EXPECT_EQ(
      run.Verdicts(),
      "21 WITHDRAWN CERTAIN STALE_EDS ESTABLISHED L4\n15 DEAD CERTAIN STALE_EDS REFUSED L4\n");
  for (const Connection& c : run.judged()) {
    if (c.destination_class != DestinationClass::kDead) continue;
    EXPECT_GT(c.since_withdrawn, c.since_dead) << "two clocks: requested, then dead, then dropped";
    EXPECT_LE(InSeconds(c.since_dead), 2.4);
  }
}

// The same death on another node, without a request that anybody told: the slice's clock is behind
// the pod's.
TEST(PublicCasesTest, PublicCase24_cilium48271_ADeathThatTheSliceHidesIsStillDead) {
  const CaseRun run(CaseScript(
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy web sidecar\n@3 sync\n"
      "@20 pod a ip=10.0.0.1 node=n2\n@20.1 slice s1 catalog a\n@30..125/5 poll web catalog=a\n"
      "@105 connect web a established\n"
      "@110.4 pod a fin=110 phase=Failed\n"
      "@111.8 connect web a refused\n@112.1 connect web a refused\n"
      "@112.463 slice s1 catalog\n@130 poll web catalog\n@140 tick\n"));
  EXPECT_EQ(run.Verdicts(), "2 DEAD CERTAIN STALE_EDS REFUSED L4\n1 LIVE CERTAIN ESTABLISHED L4\n");
}

}  // namespace
}  // namespace phantomd::testing
