// Public cases, by the number they have in our list, that are a matter of who held an address when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lifecycle/expect_who.h"

namespace phantomd::testing {
namespace {

// linkerd2#10406: a proxy loops on a stale address; later the address belongs to another pod, and
// the connect succeeds: success in TCP, wrong by identity.
TEST(PublicCasesTest, Case16_StaleIpLaterBelongsToAPodTheServiceNeverListed) {
  Story story(
      "@10 sync\n"
      "@20 pod old ip=10.0.0.1 created=15 wl=Deployment/grpc\n@20.1 slice s1 grpc old\n"
      "@100.2 pod old del=100\n@100.3 slice s1 grpc old:terminating\n"
      "@101.4 pod old fin=101 phase=Succeeded deleted\n@101.5 slice s1 grpc\n"
      "@110 pod new ip=10.0.0.1 created=108 wl=Deployment/other\n@110.1 slice t1 other new\n");
  ExpectWho(story, "10.0.0.1", {{99, "old!"}, {103, "nobody"}, {111, "new!"}});
  const Lifecycle& index = story.lifecycle();
  EXPECT_EQ(index.MeaningOf("shop/grpc", story.Pod("new")), Meaning::kNotMeant);
  EXPECT_EQ(index.MeaningOf("shop/grpc", story.Pod("old")), Meaning::kMeant);
  EXPECT_EQ(index.At(Ip("10.0.0.1"), At(111)).last.ref->name, "old");
}

// linkerd2#6147: the address's previous use ended 1.5 h earlier, the proxy was up for 20 h.
TEST(PublicCasesTest, Case17_PreviousHolderIsRememberedForHours) {
  Story story(
      "@10 sync\n"
      "@20 pod old ip=10.0.0.1 created=15 wl=Deployment/a\n"
      "@1000.2 pod old del=1000\n@1002.4 pod old fin=1002 phase=Succeeded deleted\n"
      "@6400 pod new ip=10.0.0.1 created=6398 wl=Deployment/b\n");
  story.lifecycle().Compact(At(900));
  const AddressFacts facts = story.lifecycle().At(Ip("10.0.0.1"), At(6500));
  ASSERT_EQ(facts.holders.size(), 1u);
  EXPECT_EQ(facts.holders[0].tenancy.ref->name, "new");
  EXPECT_EQ(facts.last.ref->name, "old");
  EXPECT_EQ(Show(facts.last.released), "[1001.5 1002.4]");
  EXPECT_TRUE(facts.other_holder_known);
}

// linkerd2#5394: a completed job (31 h old) and a running pod share 100.96.43.254.
TEST(PublicCasesTest, Case19_CompletedJobFreesTheAddressThatTheApiGoesOnListing) {
  for (const bool job_first : {true, false}) {
    Story story;
    const std::string_view job =
        "@9 pod job ip=100.96.43.254 created=1 fin=3 phase=Succeeded wl=Job/x rev=\n";
    const std::string_view running = "@9 pod web ip=100.96.43.254 created=5\n";
    story.Tell(job_first ? job : running);
    story.Tell(job_first ? running : job);
    story.Tell("@10 sync\n@11 pod job\n");
    ExpectWho(story, "100.96.43.254", {{9.5, "web!"}, {12, "web!"}, {500, "web!"}});
    EXPECT_EQ(story.lifecycle().At(Ip("100.96.43.254"), At(12)).last.ref->name, "job");
    EXPECT_FALSE(story.lifecycle().IsStale(Ip("100.96.43.254"), At(12)));
  }
}

// kubernetes#135266: a terminating and a running pod, same address, different nodes, both in one
// slice: the running one holds it.
TEST(PublicCasesTest, Case21_RunningPodWithoutADeletionRequestHoldsTheSharedAddress) {
  for (const bool in_first_list : {true, false}) {
    for (const bool old_first : {true, false}) {
      Story story(in_first_list ? "" : "@1 sync\n");
      const std::string_view terminating = "@9 pod old ip=10.0.0.1 created=2 del=7 node=n1\n";
      const std::string_view running = "@9 pod new ip=10.0.0.1 created=8 node=n2\n";
      story.Tell(old_first ? terminating : running);
      story.Tell(old_first ? running : terminating);
      story.Tell("@9.5 slice s1 web old:terminating new\n");
      if (in_first_list) story.Tell("@10 sync\n");
      ExpectWho(story, "10.0.0.1", {{11, "new!"}, {500, "new!"}});
      EXPECT_FALSE(story.lifecycle().IsStale(Ip("10.0.0.1"), At(12)));
      EXPECT_EQ(story.lifecycle().At(Ip("10.0.0.1"), At(12)).last.ref->name, "old");
      story.Tell("@60 pod old deleted\n@61 slice s1 web new\n");
      ExpectWho(story, "10.0.0.1", {{70, "new!"}});
    }
  }
}

// cilium#48271: deleted 10:37:06.408, first error :10.236, the slice drops the address only at
// :12.463. Dead before it was withdrawn, by the slice's clock; two clocks, two answers.
TEST(PublicCasesTest, Case24_DeadBeforeTheSliceSaysSo) {
  Story story(
      "@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@20.1 slice s1 web a\n"
      "@106.5 pod a del=106\n"   // the request
      "@110.4 pod a fin=110\n"   // the process is gone
      "@112.463 slice s1 web\n"  // only now the slice
      "@112.5 pod a deleted\n");
  EXPECT_EQ(story.Withdrawn("a"), "[105.5 106.5]") << "by the request, not by the late slice";
  EXPECT_EQ(story.Released("a"), "[109.5 110.4]");
  ExpectWho(story, "10.0.0.1",
            {{105, "a!"},
             {107, "a!-"},
             {109.4, "a!-"},
             {110.3, "a?- nobody"},
             {110.4, "nobody"},
             {111, "nobody"}});

  // The same death without a request that anybody saw: dead while every slice still lists it ready.
  Story silent(
      "@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@20.1 slice s1 web a\n"
      "@110.4 pod a fin=110 phase=Failed\n@112.463 slice s1 web\n");
  ExpectWho(silent, "10.0.0.1", {{109, "a!"}, {110, "a? nobody"}, {110.4, "nobody"}});
  EXPECT_EQ(silent.Withdrawn("a"), "[110.463 112.463]");
  EXPECT_TRUE(silent.lifecycle().IsStale(Ip("10.0.0.1"), At(111)));
}

}  // namespace
}  // namespace phantomd::testing
