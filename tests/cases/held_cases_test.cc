// Public cases in which the proxy keeps a host that the control plane removed, or that nobody told
// it to drop.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "tests/cases/case_run.h"

namespace phantomd::testing {
namespace {

// After HPA churn: the address is absent from istiod and from `pc eds`, present in /clusters, and
// requests fail for more than three hours; one takes 22.6 s through its tries.
TEST(PublicCasesTest, PublicCase04_istio54081_HeldByTheProxyForThreeHours) {
  const CaseRun run(
      CaseScript("@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy gw gateway\n"
                 "@2 pod a ip=10.0.0.1\n@2 pod b ip=10.0.0.2\n@2 slice s1 catalog a b\n@3 sync\n"
                 "@10 poll gw catalog/L7=a,b\n"
                 "@20 pod b del=20\n@20.1 slice s1 catalog a b:terminating\n"
                 "@22.2 pod b fin=22\n@22.4 pod b deleted\n@22.4 slice s1 catalog a\n"
                 "@20.5 poll gw catalog/L7=a,~b\n"
                 "@30..11000/15 poll gw catalog/L7=a,~b\n"
                 // A request every half hour, in four tries of 5.65 s.
                 "@100..11000/1800 connect gw b abandoned for=5.65\n"
                 "@105.65..11000/1800 connect gw b abandoned for=5.65\n"
                 "@111.3..11000/1800 connect gw b abandoned for=5.65\n"
                 "@116.95..11000/1800 connect gw b abandoned for=5.65\n"));
  EXPECT_EQ(run.Verdicts(), "28 DEAD CERTAIN HELD_BY_PROXY ABANDONED L7\n");
  EXPECT_EQ(run.Rollouts(),
            "SCALE_DOWN shop/Deployment/catalog v1->v1: 1 pods, 0 withdrawn 28 dead 0 reused 0 "
            "other\n");
  EXPECT_EQ(run.Windows(), "gw open, last 10916.95, 28 attempts, 28 phantoms\n");
  EXPECT_EQ(run.Stale(), "gw 10.0.0.2 DEAD HELD_BY_PROXY\n");
  const RolloutReport& change = run.report().rollouts[0];
  EXPECT_EQ(change.wait_total, std::chrono::milliseconds(28 * 5650));
  EXPECT_EQ(change.by_outcome, (Counts{{"ABANDONED", 28}}));
  const AddressExplanation why =
      run.engine().Explain({IpAddr::V4(10, 0, 0, 2), 8080}, run.engine().now());
  ASSERT_EQ(why.beliefs.size(), 1u);
  EXPECT_EQ(why.beliefs[0].health, "held by the proxy");
}

// Active health checks hold a removed host until they have failed threshold times; the checks
// themselves harm nobody and are not judged. With ignore_health_on_host_removal it goes at once.
struct HealthChecks {
  int interval, threshold;
  bool ignored;
  const char* verdicts;
  const char* window;
};
class HeldByHealthChecks : public ::testing::TestWithParam<HealthChecks> {};
TEST_P(HeldByHealthChecks, PublicCase14_kgateway8942_WindowIsIntervalTimesThreshold) {
  const HealthChecks& hc = GetParam();
  const double held = hc.ignored ? 0 : hc.interval * hc.threshold;
  CaseScript script(fmt::format(
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy gw gateway\n"
      "@2 pod a ip=10.0.0.1\n@2 pod b ip=10.0.0.2\n@2 slice s1 catalog a b\n@3 sync\n"
      "@10..100/15 poll gw catalog/L7=a,b\n"
      "@99 pod c ip=10.0.0.3 rev=v2\n@99.1 slice s1 catalog a b c\n@99.5 poll gw catalog/L7=a,b,c\n"
      "@100 pod b del=100\n@100 slice s1 catalog a c b:terminating\n"
      "@100.02 end b at=100.01\n@100.2 pod b fin=100\n@100.3 pod b deleted\n"
      "@100.3 slice s1 catalog a c\n"
      "@100.9 poll gw catalog/L7=a,b,c\n"
      "@101..{0}/1 poll gw catalog/L7=a,c,~b\n@{0}..{1}/10 poll gw catalog/L7=a,c\n"
      "@100.5 connect gw b abandoned for=0.5\n"
      "@102.5..{2}/50 connect gw b abandoned for=1\n"
      "@110..{2}/{3} connect gw b abandoned for=1 by=control\n",
      101 + held, 261 + held, 100 + held, hc.interval));
  const CaseRun run(script);
  EXPECT_EQ(run.Verdicts(), hc.verdicts);
  EXPECT_EQ(run.Windows(), hc.window);
  EXPECT_EQ(run.report().status.not_judged, hc.ignored ? 0u : static_cast<uint64_t>(hc.threshold));
  EXPECT_EQ(run.Stale(), "");
}
INSTANTIATE_TEST_SUITE_P(
    PublicCasesTest, HeldByHealthChecks,
    ::testing::Values(
        HealthChecks{60, 5, false,
                     "6 DEAD CERTAIN HELD_BY_PROXY ABANDONED L7\n"
                     "1 DEAD CERTAIN STALE_EDS ABANDONED L7\n",
                     "gw closed 400.50+-0.502, last 352.50, 7 attempts, 7 phantoms\n"},
        HealthChecks{15, 30, false,
                     "9 DEAD CERTAIN HELD_BY_PROXY ABANDONED L7\n"
                     "1 DEAD CERTAIN STALE_EDS ABANDONED L7\n",
                     "gw closed 550.50+-0.502, last 502.50, 10 attempts, 10 phantoms\n"},
        HealthChecks{60, 5, true, "1 DEAD CERTAIN STALE_EDS ABANDONED L7\n",
                     "gw closed 100.95+-0.052, last 100.50, 1 attempts, 1 phantoms\n"}));

// Multi-primary: removed pods of the other clusters stay in the endpoints for hours. Nobody here
// tells who owns those addresses, and phantomd says so; its own cluster's it knows.
TEST(PublicCasesTest, PublicCase07_istio32310_RemotePodsHaveAnUnknownOwner) {
  for (const char* cidr : {"", " cidr=10.1.0.0/16"}) {
    CaseScript script(fmt::format("@1 node n1 ready{}\n", cidr));
    script.Tell(
        "@1 proxy gw gateway\n@2 pod a ip=10.1.0.1\n@2 pod b ip=10.1.0.2\n"
        "@2 slice s1 catalog a b\n@3 sync\n"
        "@5..8000/15 poll gw catalog=one!10.1.0.1,one!10.1.0.2,two!10.2.0.7,three!10.3.0.7\n"
        "@20 pod b del=20\n@20.1 slice s1 catalog a b:terminating\n@22.2 pod b fin=22\n"
        "@22.3 pod b deleted\n@22.4 slice s1 catalog a\n"
        "@30..8000/3000 connect gw 10.2.0.7 abandoned for=10\n"
        "@31..8000/3000 connect gw 10.3.0.7 abandoned for=10\n"
        "@32..8000/3000 connect gw 10.1.0.2 abandoned for=10\n"
        "@33..8000/3000 connect gw 10.1.0.1 established\n");
    const CaseRun run(script);
    EXPECT_EQ(run.Verdicts(),
              "6 UNKNOWN_DESTINATION REMOTE_CLUSTER ABANDONED L4\n"
              "3 DEAD CERTAIN STALE_EDS ABANDONED L4\n"
              "3 LIVE CERTAIN ESTABLISHED L4\n")
        << cidr;
    EXPECT_EQ(run.Windows(), "gw open, last 6032.00, 3 attempts, 3 phantoms\n");
    EXPECT_EQ(run.Stale(), "gw 10.1.0.2 DEAD STALE_EDS\n");
  }
}

}  // namespace
}  // namespace phantomd::testing
