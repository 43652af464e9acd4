// Who held an address at every instant around every edge, and within which bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lifecycle/expect_who.h"

namespace phantomd::testing {
namespace {

using ::testing::ElementsAre;

TEST(TenancyTest, AcquiredBetweenCreationAndTheFirstStatusWithTheAddress) {
  Story story(
      "@10 sync\n"
      "@21 pod a noip created=20 phase=Pending\n"
      "@25 pod a ip=10.0.0.1 phase=Running\n");
  ExpectWho(story, kX,
            {{9.9, "nobody early"},
             {10, "nobody"},
             {19.4, "nobody"},
             {19.5, "a? nobody"},
             {24.999, "a? nobody"},
             {25, "a!"},
             {1000, "a!"}});
}

TEST(TenancyTest, FirstListTellsOfPodsThatHoldTheirAddressSinceCreation) {
  Story story("@9 pod a ip=10.0.0.1 created=2\n@10 sync\n");
  ExpectWho(story, kX, {{1, "nobody early"}, {2, "a? nobody early"}, {9, "a!"}, {10, "a!"}});
}

TEST(TenancyTest, DeadBetweenFinishedAtAndItsReport) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50\n"
      "@52.6 pod a fin=52 phase=Succeeded\n"
      "@53 pod a deleted\n");
  ExpectWho(story, kX,
            {{49.4, "a!"},
             {51.4, "a!-"},
             {51.499, "a!-"},
             {51.5, "a?- nobody"},
             {52.599, "a?- nobody"},
             {52.6, "nobody"},
             {90, "nobody"}});
  EXPECT_EQ(story.Released("a"), "[51.5 52.6]");
  const AddressFacts facts = story.lifecycle().At(Ip(kX), At(60));
  EXPECT_EQ(facts.last.likely_released, At(52.4)) << "a finish is told some 200 ms later";
  EXPECT_EQ(facts.last.evidence, "finished containers");
  EXPECT_TRUE(facts.ever_held);
}

// Between two runs of a crashed container the pod is alive: only the request makes its end final.
TEST(TenancyTest, CrashedPodDiesWithItsDeletionRequest) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@52.6 pod a fin=52\n"
      "@60.2 pod a del=60 fin=52\n"
      "@61 pod a del=60 fin=52 phase=Failed\n"
      "@62 pod a deleted\n");
  ExpectWho(
      story, kX,
      {{51.5, "a!"}, {59.4, "a!"}, {59.5, "a?~ nobody"}, {60.1, "a?~ nobody"}, {60.2, "nobody"}});
  EXPECT_EQ(story.Released("a"), "[59.5 60.2]");
  EXPECT_EQ(story.lifecycle().At(Ip(kX), At(70)).last.likely_released, At(60.1));
}

// The crash is told only by the last status, long after the request: it may have been either.
TEST(TenancyTest, FinishBeforeTheRequestMayHaveBeenACrash) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@60.2 pod a del=60\n"
      "@61 pod a fin=52 phase=Failed\n");
  EXPECT_EQ(story.Released("a"), "[51.5 60.2]");
  EXPECT_EQ(story.lifecycle().At(Ip(kX), At(70)).last.likely_released, At(60.1));
}

TEST(TenancyTest, ToldLateFinishIsBoundedByItsSecondAndTheClocks) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50\n"
      "@59 pod a fin=52 phase=Succeeded\n");
  EXPECT_EQ(story.Released("a"), "[51.5 53.5]");
}

TEST(TenancyTest, CrashIsNotDeath) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@30.5 pod a fin=30\n");
  ExpectWho(story, kX, {{29, "a!"}, {31, "a!"}, {100, "a!"}});
  story.Tell("@32 pod a fin=\n@60 pod a del=60\n@60.5 pod a deleted\n");
  EXPECT_EQ(story.Released("a"), "[59.5 -]") << "the end of the crashed container counts no more";
}

TEST(TenancyTest, TerminatingPodWithoutAReportedEndMayBeDead) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50\n");
  ExpectWho(story, kX,
            {{49.4, "a!"}, {49.5, "a?~ nobody"}, {50.2, "a?- nobody"}, {99, "a?- nobody"}});
  EXPECT_TRUE(story.lifecycle().At(Ip(kX), At(60)).holders[0].end_untold);
  EXPECT_FALSE(story.lifecycle().At(Ip(kX), At(40)).holders[0].end_untold);
}

TEST(TenancyTest, ForceDeletedPodMayGoOnServing) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50 deleted\n");
  EXPECT_EQ(story.Released("a"), "[49.5 -]");
  ExpectWho(story, kX, {{49.4, "a!"}, {55, "a?- nobody"}, {5000, "a?- nobody"}});
  const AddressFacts facts = story.lifecycle().At(Ip(kX), At(60));
  EXPECT_FALSE(facts.holders[0].end_untold) << "nothing more will be told";
  EXPECT_EQ(facts.holders[0].tenancy.evidence, "deleted while running");
}

TEST(TenancyTest, FailedWithoutFinishIsDeadByTheReceipt) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@40 pod a\n"
      "@50 pod a phase=Failed reason=Evicted\n");
  EXPECT_EQ(story.Released("a"), "[38 50]") << "after the last proof of life";
  ExpectWho(story, kX, {{37.9, "a!"}, {38, "a? nobody"}, {50, "nobody"}});
  EXPECT_EQ(story.lifecycle().At(Ip(kX), At(60)).last.evidence, "phase Failed");
  EXPECT_EQ(story.lifecycle().At(Ip(kX), At(60)).last.likely_released, At(49.9));
}

TEST(TenancyTest, CompletedJobDeletedMuchLaterDiedWhenItEnded) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50 pod a phase=Succeeded\n"
      "@500 pod a del=500 deleted\n");
  EXPECT_EQ(story.Released("a"), "[18 50]");
}

TEST(TenancyTest, DeletedEventBoundsAPodWhoseContainersHadFinished) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50\n"
      "@52.3 pod a fin=52 deleted\n");
  EXPECT_EQ(story.Released("a"), "[51.5 52.3]");
}

TEST(TenancyTest, ReusedIpBelongsToNewPodAndLateDeletedEndsOnlyTheOld) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50\n"
      "@52.6 pod a fin=52 phase=Succeeded\n"
      "@53 pod b ip=10.0.0.1 created=49\n"
      "@55 pod a deleted\n");
  ExpectWho(story, kX,
            {{48, "a!"},
             {51, "a!-"},
             {51.6, "b? a?- nobody"},  // b is not acquired before a's earliest end
             {52.7, "b? nobody"},
             {53, "b!"},
             {56, "b!"},
             {100, "b!"}});
  const AddressFacts facts = story.lifecycle().At(Ip(kX), At(60));
  EXPECT_EQ(Show(facts.holders[0].tenancy.acquired), "[51.5 53]");
  EXPECT_EQ(facts.last.ref->name, "a");
  EXPECT_TRUE(facts.other_holder_known);
  EXPECT_TRUE(facts.history_complete) << "the address first appeared after the first sync";
}

TEST(TenancyTest, RunningHolderEndsAPodThatNeverSpokeOfItsEnd) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50 pod a\n"
      "@60 pod b ip=10.0.0.1 created=55\n");
  ExpectWho(story, kX,
            {{47.9, "a!"},
             {48, "a? nobody"},
             {54.5, "b? a? nobody"},
             {59.9, "b? a? nobody"},
             {60, "b!"}});
  EXPECT_EQ(story.Released("a"), "[48 60]");
}

TEST(TenancyTest, ShortJobToldOnceAtItsEndHeldTheAddressAfterItsPredecessor) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50\n"
      "@51.4 pod a fin=51 phase=Succeeded deleted\n"
      "@60 pod j ip=10.0.0.1 created=55 fin=58 phase=Succeeded\n");
  ExpectWho(story, kX,
            {{54.4, "nobody"},
             {54.5, "j? nobody"},
             {57.5, "j? nobody"},
             {59.4, "j? nobody"},
             {59.5, "nobody"}});
}

TEST(TenancyTest, HostNetworkPodHoldsNoAddress) {
  Story story("@10 sync\n@20 pod a hostnet ip=192.168.0.1 created=15\n");
  ExpectWho(story, "192.168.0.1", {{30, "nobody"}});
  EXPECT_FALSE(story.lifecycle().At(Ip("192.168.0.1"), At(30)).ever_held);
}

TEST(TenancyTest, AddressThatVanishesFromTheStatusMayOrMayNotBeLost) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50 pod a noip\n");
  ExpectWho(story, kX, {{47, "a!"}, {48, "a? nobody"}, {70, "a? nobody"}});
  story.Tell("@80 pod a ip=10.0.0.1\n");
  ExpectWho(story, kX, {{48, "a!"}, {70, "a!"}, {90, "a!"}});
}

TEST(TenancyTest, AddressReplacedByAnotherIsLost) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50 pod a ip=10.0.0.2\n");
  ExpectWho(story, kX, {{47, "a!"}, {49, "a? nobody"}, {50, "nobody"}});
  ExpectWho(story, "10.0.0.2", {{49, "a? nobody"}, {50, "a!"}});
  EXPECT_EQ(story.lifecycle().At(Ip(kX), At(60)).last.evidence, "address replaced");
  EXPECT_EQ(story.Released("a"), "[- -]") << "the pod lives on";
}

TEST(TenancyTest, DualStackPodHoldsBothAddresses) {
  Story story("@10 sync\n@20 pod a ip=10.0.0.1,fd00::1 created=15\n@30 pod a ip=10.0.0.1\n");
  ExpectWho(story, kX, {{40, "a!"}});
  ExpectWho(story, "fd00::1", {{27, "a!"}, {40, "a? nobody"}});
  EXPECT_THAT(story.lifecycle().AddressesOf(story.Pod("a")), ElementsAre(Ip(kX), Ip("fd00::1")));
}

TEST(TenancyTest, KernelOfTheOwnNodeDatesTheEndExactly) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50\n"
      "@52.45 end a at=52.4 ip=10.0.0.1\n");
  ExpectWho(story, kX, {{52.399, "a!-"}, {52.4, "nobody"}});
  story.Tell("@52.6 pod a fin=52 phase=Succeeded deleted\n");
  EXPECT_EQ(story.Released("a"), "[52.4 52.4]");
  EXPECT_EQ(story.lifecycle().At(Ip(kX), At(60)).last.evidence, "last process");
}

// The container crashed at 30.2 and waited for its next run; the request at 50 made that final.
TEST(TenancyTest, CrashThatTheKernelDatesIsNoDeath) {
  const std::string_view crashed =
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@30.4 pod a fin=30\n";
  Story story(crashed);
  story.Tell("@50.2 pod a del=50\n@50.4 end a at=30.2 ip=10.0.0.1\n");
  EXPECT_EQ(story.Released("a"), "[49.5 50.2]");
  // The sandbox went with the crash, or some time later, and nobody asked for it.
  Story alone(crashed);
  alone.Tell("@31 end a at=30.2 ip=10.0.0.1\n");
  EXPECT_EQ(alone.Released("a"), "[30.2 31]");
  // It did not crash: it had done its work.
  Story done("@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@30.4 pod a fin=30 phase=Succeeded\n");
  done.Tell("@31 end a at=30.2 ip=10.0.0.1\n@50.2 pod a del=50\n");
  EXPECT_EQ(done.Released("a"), "[30.2 30.2]");
}

// Whether it ended because it was asked to, or had crashed just before: at the latest when the news
// of the request came, or the network was lost.
TEST(TenancyTest, EndByTheKernelBeforeTheNewsOfTheRequestIsWithinBoth) {
  Story story("@10 sync\n@20 pod a ip=10.0.0.1 created=15\n");
  story.Tell("@50.3 end a at=50.1 ip=10.0.0.1\n");
  EXPECT_EQ(story.Released("a"), "[50.1 50.1]");
  story.Tell("@50.6 pod a del=50\n");
  EXPECT_EQ(story.Released("a"), "[50.1 50.3]");
}

TEST(TenancyTest, KernelKnowsTheAddressOfAPodThatNeverToldOne) {
  Story story(
      "@10 sync\n"
      "@20 pod a noip created=18\n"
      "@22 end a at=21.5 ip=10.0.0.1\n");
  ExpectWho(story, kX, {{17, "nobody"}, {18, "a? nobody"}, {21.5, "nobody"}});
}

TEST(TenancyTest, KernelsWordOfAnAddressThatThePodDoesNotShowIsNotTaken) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.7 created=18\n"
      "@21 pod b hostnet ip=192.168.0.1 created=18\n"
      "@22 end a at=21.5 ip=10.0.0.1 ip=fd00::1\n"
      "@22 end b at=21.5 ip=10.0.0.1\n");
  ExpectWho(story, kX, {{19, "nobody"}, {21, "nobody"}});
  EXPECT_TRUE(story.lifecycle().Tenancies(Ip(kX)).empty());
  ExpectWho(story, "10.0.0.7", {{30, "a!"}});
  // It shows none of that family.
  ExpectWho(story, "fd00::1", {{21, "a? nobody"}, {21.5, "nobody"}});
}

TEST(TenancyTest, KernelEndsTheAddressOfAnEarlierSandbox) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=18\n"
      "@30 pod a ip=10.0.0.7\n"
      "@30.1 end a at=29.5 ip=10.0.0.1\n");
  ExpectWho(story, kX, {{29.4, "a!"}, {29.5, "nobody"}});
  ExpectWho(story, "10.0.0.7", {{30, "a!"}});
}

TEST(TenancyTest, PodThatNeverShowedItsAddressMayHaveHeldAny) {
  Story story(
      "@5 node n1 ready cidr=10.0.0.0/24\n@5 node n2 ready cidr=10.0.1.0/24\n"
      "@10 sync\n"
      "@20 pod a noip created=20\n"
      "@25 pod a deleted\n");
  ExpectWho(story, "10.0.0.9",
            {{19, "nobody"}, {19.5, "nobody untold"}, {24.9, "nobody untold"}, {25, "nobody"}});
  ExpectWho(story, "10.0.1.9", {{22, "nobody"}});         // another Node's range
  ExpectWho(story, "10.9.9.9", {{22, "nobody untold"}});  // no Node tells
}

TEST(TenancyTest, UnboundPodHoldsNoUntoldAddress) {
  Story story("@10 sync\n@20 pod a noip created=20 node= phase=Pending\n");
  ExpectWho(story, kX, {{30, "nobody"}});
  story.Tell("@31 pod a node=n1\n");
  ExpectWho(story, kX, {{30, "nobody untold"}});
  story.Tell("@32 pod a ip=10.0.0.7\n");
  ExpectWho(story, kX, {{30, "nobody"}});
}

TEST(TenancyTest, OldListDoesNotReviveADeletedPod) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@50.2 pod a del=50\n"
      "@52.3 pod a fin=52 deleted\n"
      "@60 pod a back fin=\n");
  ExpectWho(story, kX, {{70, "nobody"}});
  EXPECT_EQ(story.lifecycle().pods(), 0u);
  EXPECT_EQ(story.lifecycle().tombstones(), 1u);
}

TEST(TenancyTest, EveryChangeNamesTheAddressesItTouched) {
  Story story("@10 sync\n");
  EXPECT_THAT(story.Tell("@20 pod a ip=10.0.0.1 created=15"), ElementsAre(Ip(kX)));
  EXPECT_THAT(story.Tell("@21 slice s1 web a"), ElementsAre(Ip(kX)));
  EXPECT_THAT(story.Tell("@22 slice s1 web a"), ElementsAre()) << "nothing new";
  EXPECT_THAT(story.Tell("@23 slice s1 gone"), ElementsAre(Ip(kX)));
  EXPECT_THAT(story.Tell("@24 pod a del=24"), ElementsAre(Ip(kX)));
  EXPECT_THAT(story.Tell("@25 end a at=25 ip=10.0.0.1"), ElementsAre(Ip(kX)));
  EXPECT_THAT(story.Tell("@26 node n1 notready lease=20 addr=192.168.0.1"),
              ElementsAre(Ip("192.168.0.1"), Ip(kX)));
}

// A gap hides that the pod a died and b got its address; b is leaving already when it is first
// told.
TEST(TenancyTest, AfterAGapALeavingPodIsNotOlderThanOneWhoseWordIsOld) {
  Story story(R"(
    @10 sync
    @20 pod a ip=10.0.0.1 created=18
    @40 broken pods until=38
    @50 pod b ip=10.0.0.1 created=43 del=49
    @51 pod a deleted since=38
    @51 synced pods
    @55 pod b deleted
  )");
  EXPECT_EQ(story.Who(kX, 25), "a!");
  EXPECT_EQ(story.Who(kX, 50), "b?- a?~ nobody gap");
  EXPECT_EQ(story.Released("a"), "[36 -]");
  EXPECT_EQ(story.Released("b"), "[48.5 -]");
}

}  // namespace
}  // namespace phantomd::testing
