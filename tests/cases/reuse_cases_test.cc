// Public cases in which the address has, or seems to have, more than one pod.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "tests/cases/case_run.h"

namespace phantomd::testing {
namespace {

// The proxy loops on a stale address, ten connects of 1 s each; later the address belongs to a pod
// of another service, and the connects succeed: gRPC answers Unimplemented.
TEST(PublicCasesTest, PublicCase16_linkerd10406_TheAddressAnswersForAnotherService) {
  const std::string told =
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy web sidecar\n"
      "@2 pod a ip=10.0.0.1 wl=Deployment/tracking\n@2 pod b ip=10.0.0.2 wl=Deployment/tracking\n"
      "@2.1 slice s1 tracking a b\n@3 sync\n"
      "@50 pod a del=50\n@50.1 slice s1 tracking b a:terminating\n"
      "@51.2 pod a fin=51\n@51.4 pod a deleted\n@51.4 slice s1 tracking b\n"
      "@60..63/0.3 connect web a abandoned for=1\n"
      "@98 pod c ip=10.0.0.1 wl=Deployment/billing created=97\n@99 slice s2 billing c\n"
      "@110..200/10 connect web a established\n@320 tick\n";
  const CaseRun run(CaseScript(told + "@10..300/15 poll web tracking=a,b\n"));
  EXPECT_EQ(run.Verdicts(),
            "10 DEAD CERTAIN STALE_EDS ABANDONED L4\n9 REUSED CERTAIN STALE_EDS ESTABLISHED L4\n");
  const Connection& reused = run.judged().back();
  EXPECT_EQ(reused.last_holder.pod.name, "a");
  EXPECT_EQ(reused.current_holder.pod.name, "c");
  EXPECT_EQ(reused.current_holder.pod.workload.name, "billing");
  EXPECT_EQ(run.Rollouts(),
            "SCALE_DOWN shop/Deployment/tracking v1->v1: 1 pods, 0 withdrawn 10 dead 9 reused 0 "
            "other\n");
  EXPECT_EQ(run.Stale(), "web 10.0.0.1 REUSED STALE_EDS\n");

  // Of a proxy without an admin API nobody knows whom it meant: nobody answers for sure
  // without the view that was waited for.
  const CaseRun blind((CaseScript(told)));
  EXPECT_EQ(blind.Verdicts(),
            "10 DEAD INFERRED UNKNOWN_BELIEF ABANDONED\n9 LIVE INFERRED ESTABLISHED\n");
}

// TLS meets the wrong identity: the address's previous use ended 1.5 h earlier, the proxy has been
// up for 20 h. Hours of housekeeping lie in between.
TEST(PublicCasesTest, PublicCase17_linkerd6147_ThePreviousUseEndedNinetyMinutesAgo) {
  const CaseRun run(CaseScript(
      "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy web sidecar\n"
      "@2 pod old ip=10.0.0.1 wl=Deployment/a\n@2 pod x ip=10.0.0.5 wl=Deployment/a\n"
      "@2.1 slice s1 a old x\n@3 sync\n"
      "@10..77600/1000 poll web a=old,x\n"
      "@66600 pod old del=66600\n@66600.1 slice s1 a x old:terminating\n"
      "@66602.2 pod old fin=66602\n@66602.4 pod old deleted\n@66602.4 slice s1 a x\n"
      "@71990 pod new ip=10.0.0.1 wl=Deployment/b created=71989\n@71990.1 slice s2 b new\n"
      "@71995..72100/15 poll web a=old,x\n"
      "@72002 connect web old established\n@72200 tick\n"));
  EXPECT_EQ(run.Verdicts(), "1 REUSED CERTAIN STALE_EDS ESTABLISHED L4\n");
  const Connection& c = run.judged().at(0);
  EXPECT_EQ(c.last_holder.pod.name, "old");
  EXPECT_EQ(c.current_holder.pod.name, "new");
  EXPECT_NEAR(std::chrono::duration<double>(c.since_dead).count(), 5400, 2) << "1.5 h";
}

// A job completed 31 h ago and a running pod share 100.96.43.254: the job's pod stays in the API
// with its address, which it no longer holds.
TEST(PublicCasesTest, PublicCase19_linkerd5394_ACompletedJobDoesNotHoldItsAddress) {
  for (const bool job_first : {true, false}) {
    const std::string job =
        "@100 pod job ip=100.96.43.254 wl=Job/report created=1 fin=20 phase=Succeeded\n";
    const std::string web = "@100 pod web ip=100.96.43.254 wl=Deployment/web created=50\n";
    const CaseRun run(CaseScript(
        (job_first ? job + web : web + job) +
        "@1 node n1 ready cidr=100.96.43.0/24\n@1 proxy gw gateway\n@100.1 slice s1 web web\n"
        "@101 sync\n@105..111700/600 poll gw web=web\n"
        "@110..111700/18000 connect gw web established\n@50000 pod job\n@111750 tick\n"));
    EXPECT_EQ(run.Verdicts(), "7 LIVE CERTAIN ESTABLISHED L4\n");
    EXPECT_EQ(run.judged().at(0).current_holder.pod.name, "web");
    EXPECT_EQ(run.Stale(), "");
  }
}

// A terminating and a running pod show one address, on different nodes, both in one slice: the
// running one holds it.
TEST(PublicCasesTest, PublicCase21_kubernetes135266_TheRunningPodHoldsTheSharedAddress) {
  for (const bool old_first : {true, false}) {
    const std::string terminating = "@9 pod old ip=10.0.0.1 created=2 del=7 node=n1\n";
    const std::string running = "@9 pod new ip=10.0.0.1 created=8 node=n2\n";
    const CaseRun run(CaseScript(
        (old_first ? terminating + running : running + terminating) +
        "@1 node n1 ready cidr=10.0.0.0/16\n@1 proxy web sidecar\n@9.5 slice s1 catalog "
        "old:terminating new\n"
        "@10 sync\n@12..100/5 poll web catalog=new\n@20..90/10 connect web new established\n"
        "@60 pod old deleted\n@60.5 slice s1 catalog new\n@110 tick\n"));
    EXPECT_EQ(run.Verdicts(), "7 LIVE CERTAIN ESTABLISHED L4\n");
    for (const Connection& c : run.judged()) EXPECT_EQ(c.current_holder.pod.name, "new");
    EXPECT_EQ(run.Stale(), "") << "nobody waits for the proxies to drop it";
    EXPECT_EQ(run.report().proxies.at(0).phantoms, 0u);
  }
}

}  // namespace
}  // namespace phantomd::testing
