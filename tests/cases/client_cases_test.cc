// Public cases in which the address did not come from the mesh at all, or no new connection was
// made: the client's own choice, a Service's address, sockets that were there before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "tests/cases/case_run.h"

namespace phantomd::testing {
namespace {

// gRPC to a headless pod name: after the pod is gone each call takes 30 s, three connects of 10 s,
// until the channel is rebuilt. The sidecar passes the address through.
TEST(PublicCasesTest, PublicCase10_istio44886_AHeadlessPodNameIsTheClientsChoice) {
  const CaseRun run(CaseScript(
      "@1 node n1 ready cidr=10.0.0.0/16\n@2 pod app ip=10.0.0.9 wl=Deployment/app\n"
      "@2 proxy app sidecar\n"
      "@2 pod db-0 ip=10.0.0.1 wl=StatefulSet/db rev=r1\n@2.1 slice s1 db db-0\n@3 sync\n"
      // Envoy's ORIGINAL_DST cluster lists what clients asked for, until they no longer do.
      "@10..20/10 poll app dst:db\n@21..1100/15 poll app dst:db=db-0\n"
      "@1110..1170/15 poll app dst:db=db-0,10.0.0.2\n@1170..1400/15 poll app dst:db=10.0.0.2\n"
      "@20 connect app db-0 established\n"
      "@100 pod db-0 del=100\n@100.1 slice s1 db db-0:terminating\n"
      "@101.2 pod db-0 fin=101\n@101.4 pod db-0 deleted\n@101.4 slice s1 db\n"
      // The same name comes back under another address; the channel goes on with the old one.
      "@104 pod db-0b ip=10.0.0.2 wl=StatefulSet/db rev=r1\n@104.1 slice s1 db db-0b\n"
      "@120..1020/30 connect app db-0 abandoned for=10\n"
      "@130..1020/30 connect app db-0 abandoned for=10\n"
      "@140..1020/30 connect app db-0 abandoned for=10\n"
      "@1100 connect app db-0b established\n@1401 tick\n"));
  EXPECT_EQ(run.Verdicts(),
            "90 DEAD CERTAIN CLIENT_ADDRESS ABANDONED L4\n2 LIVE CERTAIN ESTABLISHED L4\n");
  ASSERT_EQ(run.report().rollouts.size(), 1u);
  const RolloutReport& change = run.report().rollouts[0];
  EXPECT_EQ(change.dead, 90u);
  EXPECT_EQ(change.wait_max, std::chrono::seconds(10));
  EXPECT_EQ(change.wait_total, std::chrono::seconds(900));
  EXPECT_EQ(run.Windows(),
            "shop/app closed 1162.50+-7.502, last 1010.00, 90 attempts, 90 phantoms\n")
      << "it ends when the channel has been rebuilt";
  EXPECT_EQ(run.Stale(), "") << "nothing for the mesh to push";
}

// The proxy's clusters are right; the application uses an old pod's address, which goes out through
// the PassthroughCluster.
TEST(PublicCasesTest, PublicCase12_istio53709_AnOldAddressThroughThePassthroughCluster) {
  const CaseRun run(CaseScript(
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy web sidecar\n"
      "@2 pod a ip=10.0.0.1 rev=v1\n@2.1 slice s1 catalog a\n@3 sync\n"
      "@10..50/10 poll web catalog=a dst:PassthroughCluster\n"
      "@49 pod b ip=10.0.0.2 rev=v2\n@49.1 slice s1 catalog a b\n"
      "@50 pod a del=50\n@50.1 slice s1 catalog a:terminating b\n"
      "@51.2 pod a fin=51\n@51.4 pod a deleted\n@51.4 slice s1 catalog b\n"
      "@50.3 poll web catalog=b dst:PassthroughCluster\n"
      // Envoy's ORIGINAL_DST cluster lists what clients asked for, for a while.
      "@60..300/15 poll web catalog=b dst:PassthroughCluster=a\n"
      "@100..280/20 connect web a abandoned for=10\n@101..280/20 connect web b established\n"
      "@301 tick\n"));
  EXPECT_EQ(run.Verdicts(),
            "9 DEAD CERTAIN CLIENT_ADDRESS ABANDONED L4\n9 LIVE CERTAIN ESTABLISHED L4\n");
  EXPECT_EQ(
      run.Rollouts(),
      "ROLLOUT shop/Deployment/catalog v1->v2: 1 pods, 0 withdrawn 9 dead 0 reused 0 other\n");
}

// Control. Envoy closes after 10.001 s; TCP service, and the address is a ClusterIP: a client that
// gave up, not a pod's address.
TEST(PublicCasesTest, PublicCase25_istio22490_ATimeoutToAClusterIpIsNotAPhantom) {
  const struct {
    const char* node;
    const char* cluster_ip;
    const char* certainty;
  } kCases[] = {
      {"@1 node n1 ready cidr=10.0.0.0/16\n", "172.20.14.2", "CERTAIN"},
      // The range of a Node that nobody tells of may be there.
      {"@1 node n1 ready cidr=10.0.0.0/16\n", "10.96.14.2", "INFERRED"},
      {"@1 node n1 ready\n", "172.20.14.2", "INFERRED"},
  };
  for (const auto& c : kCases) {
    CaseScript script(c.node);
    script.Tell(
        fmt::format("@1 proxy web sidecar\n@2 pod a ip=10.0.0.1\n@2.1 slice s1 catalog a\n@3 sync\n"
                    "@10..200/15 poll web catalog=a dst:PassthroughCluster={0}\n"
                    "@50..100/10 connect web {0} abandoned for=10.001\n"
                    "@105 connect web {0} established\n@200 tick\n",
                    c.cluster_ip));
    const CaseRun run(script);
    EXPECT_EQ(run.Verdicts(), fmt::format("5 EXTERNAL {0} ABANDONED L4\n"
                                          "1 EXTERNAL {0} ESTABLISHED L4\n",
                                          c.certainty));
    EXPECT_EQ(run.report().proxies.at(0).phantoms, 0u);
    EXPECT_TRUE(run.report().connections.empty());
    EXPECT_EQ(run.Rollouts(), "");
  }
}

// Control. Sockets that were established before the pod was deleted stay past the idle timeout: no
// new connect, so no phantom; they are counted as stranded.
TEST(PublicCasesTest, PublicCase27_istio38309_OldSocketsToADeletedPodAreStranded) {
  const CaseRun run(CaseScript(
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy web sidecar\n"
      "@2 pod a ip=10.0.0.17 rev=v1\n@2.1 slice s1 catalog a\n@3 sync\n"
      "@10..50/10 poll web catalog=a\n"
      "@20 connect web a established\n@21 connect web a established\n"
      "@22 connect web a established\n"
      "@49 pod b ip=10.0.0.18 rev=v2\n@49.1 slice s1 catalog a b\n"
      "@50 pod a del=50\n@50.1 slice s1 catalog a:terminating b\n"
      "@50.2..52/0.05 poll web catalog=b\n"
      "@51.2 pod a fin=51\n@51.4 pod a deleted\n@51.4 slice s1 catalog b\n"
      "@51.1 close web a closed since=22\n"  // drained before the pod was gone
      "@400 close web a stalled since=20\n@1000 close web a expired since=21\n@1200 tick\n"));
  EXPECT_EQ(run.Verdicts(), "3 LIVE CERTAIN ESTABLISHED L4\n");
  EXPECT_EQ(
      run.Rollouts(),
      "ROLLOUT shop/Deployment/catalog v1->v2: 1 pods, 0 withdrawn 0 dead 0 reused 0 other\n");
  const RolloutReport& change = run.report().rollouts.at(0);
  EXPECT_EQ(change.stranded, 2u);
  EXPECT_EQ(change.stranded_by_end, (Counts{{"EXPIRED", 1}, {"STALLED", 1}}));
  EXPECT_EQ(run.report().proxies.at(0).phantoms, 0u);
}

}  // namespace
}  // namespace phantomd::testing
