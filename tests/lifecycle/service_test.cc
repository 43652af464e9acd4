// The withdrawn clock: in service, out of it, and back, as slices and deletion requests tell.
#include <gtest/gtest.h>

#include "tests/lifecycle/expect_who.h"

namespace phantomd::testing {
namespace {

constexpr std::string_view kRunning =
    "@10 sync\n"
    "@20 pod a ip=10.0.0.1 created=15\n"
    "@21 slice s1 web a\n";

TEST(ServiceTest, RemovedFromItsOnlySliceIsWithdrawn) {
  Story story(kRunning);
  story.Tell("@50 slice s1 web\n");
  ExpectWho(story, kX, {{30, "a!"}, {47.999, "a!"}, {48, "a!~"}, {49.999, "a!~"}, {50, "a!-"}});
  EXPECT_EQ(story.Withdrawn("a"), "[48 50]");
  EXPECT_EQ(story.lifecycle().At(Ip(kX), At(60)).holders[0].likely_withdrawn, At(49.9));
}

// Never ready as far as was told, but nobody told for a while.
TEST(ServiceTest, UnreadyInTheListAfterAGapMayHaveBeenInServiceInside) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@21 slice s1 web a:unready\n"
      "@52 broken slices until=50\n"
      "@70 slice s1 web a:unready\n"
      "@70 synced slices\n");
  ExpectWho(story, kX, {{30, "a!"}, {47.9, "a!"}, {71, "a!~"}});
}

// What a gap hid of it: whether it was ever in service, and when its deletion was requested.
TEST(ServiceTest, GoneFromTheListAfterAGapItMayHaveBeenInServiceInside) {
  Story story(
      "@10 sync\n"
      "@20 pod a ip=10.0.0.1 created=15\n"
      "@21 slice s1 web a:unready\n"
      "@52 broken slices until=50\n"
      "@70 slice s1 web\n"
      "@70 synced slices\n"
      "@75.2 pod a del=75\n");
  ExpectWho(story, kX, {{30, "a!"}, {71, "a!~"}, {80, "a?~ nobody"}});
}

TEST(ServiceTest, SliceThatVanishesWithdrawsWhatItListed) {
  Story story(kRunning);
  story.Tell("@50 slice s1 gone\n");
  EXPECT_EQ(story.Withdrawn("a"), "[48 50]");
}

TEST(ServiceTest, DeletionRequestNarrowsTheWithdrawal) {
  Story story(kRunning);
  story.Tell("@50.2 pod a del=50\n@50.4 slice s1 web a:terminating\n");
  EXPECT_EQ(story.Withdrawn("a"), "[49.5 50.2]");
  ExpectWho(story, kX, {{49.4, "a!"}, {49.5, "a?~ nobody"}, {50.2, "a?- nobody"}});
}

TEST(ServiceTest, RequestToldBySliceBeforeThePodIsNotOlderThanItself) {
  Story story(kRunning);
  story.Tell("@50.2 slice s1 web a:terminating\n@50.9 pod a del=50\n");
  EXPECT_EQ(story.Withdrawn("a"), "[49.5 50.2]");
}

TEST(ServiceTest, UnreadyBeforeTheDeletionWithdrawsFirst) {
  Story story(kRunning);
  story.Tell("@45 slice s1 web a:unready\n@50.2 pod a del=50\n");
  EXPECT_EQ(story.Withdrawn("a"), "[43 45]");
}

TEST(ServiceTest, LateRequestIsBoundedByFeedDelay) {
  Story story(kRunning);
  story.Tell("@53 pod a del=50\n");
  EXPECT_EQ(story.Withdrawn("a"), "[51 51.5]") << "no older than feed_delay, by its own time";
}

TEST(ServiceTest, ReadyAgainIsInServiceAgain) {
  Story story(kRunning);
  story.Tell("@50 slice s1 web a:unready\n@60 slice s1 web a\n");
  ExpectWho(
      story, kX,
      {{47.9, "a!"}, {49, "a!~"}, {50, "a!-"}, {57.9, "a!-"}, {58, "a!~"}, {60, "a!"}, {99, "a!"}});
  EXPECT_EQ(story.Withdrawn("a"), "[- -]") << "in service: no withdrawal lasts";
  story.Tell("@70 slice s1 web\n");
  EXPECT_EQ(story.Withdrawn("a"), "[68 70]");
  const AddressFacts between = story.lifecycle().At(Ip(kX), At(62));
  EXPECT_EQ(Show(between.holders[0].withdrawn), "[68 70]") << "the next one after t";
  const AddressFacts behind = story.lifecycle().At(Ip(kX), At(55));
  EXPECT_EQ(Show(behind.holders[0].withdrawn), "[48 50]") << "the one t lies behind";
}

struct Move {
  const char* name;
  const char* lines;
  const char* withdrawn;
};

TEST(ServiceTest, EndpointsThatMoveBetweenSlicesStayInService) {
  const Move moves[] = {
      {"new slice first", "@50 slice s2 web a\n@52 slice s1 web\n", "[- -]"},
      {"gap of exactly a second", "@50 slice s1 web\n@51 slice s2 web a\n", "[- -]"},
      {"gap of more than a second", "@50 slice s1 web\n@51.001 slice s2 web a\n@60 slice s2 gone\n",
       "[58 60]"},
      {"unready is believed",
       "@50 slice s1 web a:unready\n@50.5 slice s2 web a\n@60 slice s2 gone\n", "[58 60]"},
      {"another Service does not count as a move",
       "@50 slice s1 web\n@50.5 slice s2 api a:unready\n", "[48 50]"},
  };
  for (const Move& move : moves) {
    Story story(kRunning);
    story.Tell(move.lines);
    EXPECT_EQ(story.Withdrawn("a"), move.withdrawn) << move.name;
  }
  Story believed(kRunning);
  believed.Tell("@50 slice s1 web a:unready\n@50.5 slice s2 web a\n");
  EXPECT_EQ(believed.Who(kX, 50.2), "a!~") << "it was out: unready is believed";
  Story moved(kRunning);
  moved.Tell("@50 slice s1 web\n@50.5 slice s2 web a\n");
  EXPECT_EQ(moved.Who(kX, 50.2), "a!");
}

TEST(ServiceTest, OneOfTwoServicesKeepsItInService) {
  Story story(kRunning);
  story.Tell("@22 slice t1 api a\n@50 slice s1 web\n");
  ExpectWho(story, kX, {{49, "a!"}, {60, "a!"}});
  story.Tell("@70 slice t1 api a:unready\n");
  EXPECT_EQ(story.Withdrawn("a"), "[68 70]") << "with the last of them";
  ExpectWho(story, kX, {{60, "a!"}, {69, "a!~"}, {70, "a!-"}});
}

TEST(ServiceTest, NeverReadyPodIsNotWithdrawn) {
  Story story("@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@21 slice s1 web a:unready\n");
  story.Tell("@50.2 pod a del=50\n@50.4 slice s1 web a:terminating\n@53 slice s1 web\n");
  ExpectWho(story, kX, {{30, "a!"}, {49, "a!"}, {52, "a? nobody"}, {55, "a? nobody"}});
  EXPECT_EQ(story.Withdrawn("a"), "[- -]");
}

TEST(ServiceTest, PodWithoutAServiceIsWithdrawnByItsDeletionAlone) {
  Story story("@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@50.2 pod a del=50\n");
  EXPECT_EQ(story.Withdrawn("a"), "[49.5 50.2]");
}

TEST(ServiceTest, UnreadyInTheFirstListMayBeEither) {
  Story story(
      "@9 pod a ip=10.0.0.1 created=2\n@9 slice s1 web a:unready\n@9 pod b ip=10.0.0.2 created=2\n"
      "@9 slice s2 web b\n@10 sync\n");
  ExpectWho(story, kX, {{11, "a!~"}, {30, "a!~"}});
  ExpectWho(story, "10.0.0.2", {{11, "b!"}});
  story.Tell("@40 slice s1 web a\n");
  ExpectWho(story, kX, {{37, "a!~"}, {40, "a!"}});
}

TEST(ServiceTest, UnreadyInTheListAfterAGapMayBeEither) {
  Story story("@10 sync\n@40 broken slices until=38\n@41 pod a ip=10.0.0.1 created=37\n");
  story.Tell("@50 slice s1 web a:unready\n@51 synced slices\n");
  ExpectWho(story, kX, {{45, "a!~"}, {60, "a!~"}});
}

TEST(ServiceTest, NewsOfASliceGapReachesBackToItsBegin) {
  Story story(kRunning);
  story.Tell("@60 broken slices until=55\n@70 slice s1 web\n@71 synced slices\n");
  EXPECT_EQ(story.Withdrawn("a"), "[53 70]");
  EXPECT_TRUE(story.lifecycle().At(Ip(kX), At(60)).slices_broken);
  EXPECT_FALSE(story.lifecycle().At(Ip(kX), At(72)).slices_broken);
  EXPECT_FALSE(story.lifecycle().At(Ip(kX), At(60)).pods_broken);
}

TEST(ServiceTest, SliceMayNameAPodBeforeThePodFeedDoes) {
  Story story("@10 sync\n@20 slice s1 web a/10.0.0.1\n");
  ExpectWho(story, kX, {{20.5, "nobody"}});
  story.Tell("@21 pod a ip=10.0.0.1 created=15\n");
  ExpectWho(story, kX, {{20.5, "a? nobody"}, {22, "a!"}});
  story.Tell("@50 slice s1 web\n");
  EXPECT_EQ(story.Withdrawn("a"), "[48 50]");
}

TEST(ServiceTest, ManualEndpointsAreListedWithoutPodWhileListed) {
  Story story("@10 sync\n@20 slice s1 web 10.9.9.9\n@50 slice s1 web\n");
  const auto manual = [&](double t) {
    return story.lifecycle().At(Ip("10.9.9.9"), At(t)).listed_without_pod;
  };
  EXPECT_FALSE(manual(17.9));
  EXPECT_TRUE(manual(18));
  EXPECT_TRUE(manual(50));
  EXPECT_FALSE(manual(50.1));
  EXPECT_FALSE(story.lifecycle().At(Ip("10.9.9.9"), At(30)).listed_with_pod);
}

TEST(ServiceTest, MeaningFollowsWhatSlicesEverListed) {
  Story story(kRunning);
  story.Tell(
      "@22 pod b ip=10.0.0.2 created=20 wl=Deployment/cart\n"
      "@23 pod c ip=10.0.0.3 created=20 rev=r2\n"
      "@24 slice t1 cart b\n"
      "@25 slice s1 web\n");
  const Lifecycle& index = story.lifecycle();
  EXPECT_EQ(index.MeaningOf("shop/web", story.Pod("a")), Meaning::kMeant) << "though gone from it";
  EXPECT_EQ(index.MeaningOf("shop/web", story.Pod("b")), Meaning::kNotMeant);
  EXPECT_EQ(index.MeaningOf("shop/cart", story.Pod("b")), Meaning::kMeant);
  EXPECT_EQ(index.MeaningOf("shop/web", story.Pod("c")), Meaning::kNoOpinion)
      << "another pod of its workload is listed";
  EXPECT_EQ(index.MeaningOf("shop/none", story.Pod("a")), Meaning::kNoOpinion);
  EXPECT_TRUE(index.ServiceKnown("shop/web"));
  EXPECT_FALSE(index.ServiceKnown("shop/none"));
  story.Tell("@30 broken slices until=29\n");
  EXPECT_EQ(index.MeaningOf("shop/web", story.Pod("b")), Meaning::kNoOpinion);
  EXPECT_EQ(index.MeaningOf("shop/web", story.Pod("a")), Meaning::kMeant);
  story.Tell("@31 synced slices\n@32 slice s1 gone\n");
  EXPECT_EQ(index.MeaningOf("shop/web", story.Pod("b")), Meaning::kNoOpinion) << "no slices left";
}

TEST(ServiceTest, RelabelledPodIsNoLongerOfTheWorkloadThatServes) {
  Story story(kRunning);
  story.Tell("@22 pod c ip=10.0.0.3 created=20\n");
  EXPECT_EQ(story.lifecycle().MeaningOf("shop/web", story.Pod("c")), Meaning::kNoOpinion);
  story.Tell("@23 pod a wl=Deployment/other\n");
  EXPECT_EQ(story.lifecycle().MeaningOf("shop/web", story.Pod("c")), Meaning::kNotMeant);
}

TEST(ServiceTest, StaleAddressesAreThoseToDropNow) {
  Story story(kRunning);
  story.Tell(
      "@22 pod b ip=10.0.0.2 created=20\n@23 pod c ip=10.0.0.3 created=20\n"
      "@24 slice s1 web a b c\n"
      "@50 slice s1 web b c\n"
      "@51.1 pod b del=51\n@52.2 pod b fin=52 phase=Succeeded deleted\n");
  const auto stale = [&](double t) {
    std::string all;
    for (const IpAddr& ip : story.lifecycle().StaleAddresses(At(t))) all += ip.ToString() + " ";
    return all;
  };
  EXPECT_EQ(stale(60), "10.0.0.1 10.0.0.2 ");
  EXPECT_TRUE(story.lifecycle().IsStale(Ip("10.0.0.2"), At(60)));
  EXPECT_FALSE(story.lifecycle().IsStale(Ip("10.0.0.3"), At(60)));
  story.Tell("@70 slice s1 web a b c\n@71 pod d ip=10.0.0.2 created=69\n");
  EXPECT_EQ(stale(80), "") << "in service again, and held again";
}

TEST(ServiceTest, WithoutAllPodsSlicesAreTheOnlyWitness) {
  Lifecycle::Options options = Story::DefaultOptions();
  options.all_pods = false;
  Story story("@10 sync\n@20 slice s1 web a/10.0.0.1\n", options);
  ExpectWho(story, kX, {{20, "a!"}, {40, "a!"}});
  story.Tell("@50 slice s1 web\n");
  ExpectWho(story, kX, {{47.9, "a!"}, {49, "a?~ nobody"}, {500, "a?- nobody"}});
  EXPECT_EQ(story.Released("a"), "[48 -]") << "nobody will tell what became of it";
  story.Tell("@60 slice s1 web b/10.0.0.1\n");
  ExpectWho(story, kX, {{59, "b? a?- nobody"}, {60, "b!"}});
}

}  // namespace
}  // namespace phantomd::testing
