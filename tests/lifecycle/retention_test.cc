// What is forgotten, what is not, and that an export leads a new index to the same answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/lifecycle/expect_who.h"
#include "tests/lifecycle/replica.h"

namespace phantomd::testing {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kTwoHolders =
    "@10 sync\n"
    "@20 pod a ip=10.0.0.1 created=15\n"
    "@50.2 pod a del=50\n@52.6 pod a fin=52 phase=Succeeded deleted\n"
    "@60 pod b ip=10.0.0.1 created=58\n"
    "@61 slice s1 web b\n"
    "@100.2 pod b del=100\n@102.6 pod b fin=102 phase=Succeeded deleted\n@103 slice s1 web\n";

TEST(RetentionTest, ForgottenIsNotDead) {
  Story story(kTwoHolders);
  story.lifecycle().Compact(At(70));
  ExpectWho(story, kX, {{30, "before horizon"}, {69.9, "before horizon"}, {70, "b!"}, {99, "b!"}});
  EXPECT_EQ(story.lifecycle().horizon(), At(70));
  EXPECT_EQ(story.lifecycle().Pod(story.Pod("a")), nullptr);
  EXPECT_EQ(story.lifecycle().tombstones(), 1u);
  EXPECT_EQ(story.lifecycle().Tenancies(Ip(kX)).size(), 1u);
  EXPECT_FALSE(story.lifecycle().At(Ip(kX), At(80)).history_complete) << "a is forgotten";
}

TEST(RetentionTest, TombstoneIsKeptUntilItsEndLiesBehindTheHorizon) {
  Story story(kTwoHolders);
  story.lifecycle().Compact(At(102.6));
  ExpectWho(story, kX, {{102.6, "nobody"}});
  EXPECT_EQ(story.lifecycle().At(Ip(kX), At(110)).last.ref->name, "b");
  story.lifecycle().Compact(At(104));
  EXPECT_TRUE(story.lifecycle().At(Ip(kX), At(110)).last.ref.is_null());
  EXPECT_EQ(story.lifecycle().tombstones(), 0u);
  EXPECT_FALSE(story.lifecycle().At(Ip(kX), At(110)).ever_held);
  EXPECT_TRUE(story.lifecycle().At(Ip(kX), At(110)).listed_with_pod);
}

TEST(RetentionTest, CompactingBackwardsChangesNothing) {
  Story story(kTwoHolders);
  story.lifecycle().Compact(At(70));
  story.lifecycle().Compact(At(30));
  EXPECT_EQ(story.lifecycle().horizon(), At(70));
}

TEST(RetentionTest, PodsOfTheApiAndListedAddressesStay) {
  Story story(
      "@10 sync\n@20 pod job ip=10.0.0.1 created=15 fin=18 phase=Succeeded\n"
      "@20 pod a ip=10.0.0.2 created=15\n@21 slice s1 web a\n"
      "@22.3 pod a del=22 fin=22 deleted\n");  // the slice goes on listing it
  story.lifecycle().Compact(At(1000));
  EXPECT_NE(story.lifecycle().Pod(story.Pod("job")), nullptr) << "the object is still there";
  EXPECT_NE(story.lifecycle().Pod(story.Pod("a")), nullptr) << "a slice still lists it";
  story.Tell("@1001 slice s1 web\n");
  story.lifecycle().Compact(At(1010));
  EXPECT_EQ(story.lifecycle().Pod(story.Pod("a")), nullptr);
}

TEST(RetentionTest, ForceDeletedPodIsForgottenByItsDeletion) {
  Story story("@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@50.2 pod a del=50 deleted\n");
  story.lifecycle().Compact(At(60));
  EXPECT_EQ(story.lifecycle().tombstones(), 0u);
}

TEST(RetentionTest, HandlesAreNeverUsedAgain) {
  Story story(kTwoHolders);
  const PodHandle b = story.Pod("b");
  story.lifecycle().Compact(At(1000));
  story.Tell("@1001 pod c ip=10.0.0.1 created=1000\n@1002 pod d ip=10.0.0.2 created=1000\n");
  EXPECT_EQ(story.lifecycle().Pod(b), nullptr);
  EXPECT_NE(story.Pod("c"), b);
  EXPECT_NE(story.Pod("d"), b);
}

TEST(RetentionTest, ChangesGoWithTheLastOfTheirPods) {
  Story story(
      "@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@20 pod a2 ip=10.0.0.2 created=15\n"
      "@49 pod b noip created=48 rev=r2\n"
      "@50.2 pod a del=50\n@52.6 pod a fin=52 phase=Succeeded deleted\n"
      "@60.2 pod a2 del=60\n@62.6 pod a2 fin=62 phase=Succeeded deleted\n");
  EXPECT_EQ(story.Change("a2", 70), "shop/Deployment/catalog/r2/19700101T000050Z: a a2");
  story.lifecycle().Compact(At(55));
  EXPECT_EQ(story.Change("a2", 70), "shop/Deployment/catalog/r2/19700101T000050Z: a2");
  story.lifecycle().Compact(At(70));
  EXPECT_TRUE(story.lifecycle().Changes(At(70)).empty());
}

TEST(RetentionTest, PodThatOnlySlicesNamedIsForgottenWithThem) {
  Story story("@10 sync\n@20 slice s1 web ghost/10.0.0.1\n@30 slice s1 web\n");
  story.lifecycle().Compact(At(15));
  EXPECT_NE(story.Pod("ghost"), PodHandle::kNone) << "the pod feed may still tell of it";
  story.lifecycle().Compact(At(40));
  EXPECT_EQ(story.Pod("ghost"), PodHandle::kNone);
}

constexpr std::string_view kEverything =
    "@5 node n1 ready lease=5 addr=192.168.0.1 cidr=10.0.0.0/16\n"
    "@9 pod first ip=10.0.0.9 created=2\n@9 slice s0 api first:unready\n"
    "@10 sync\n"
    "@20 pod a ip=10.0.0.1 created=15\n@20 pod a2 ip=10.0.0.2,fd00::2 created=15\n"
    "@21 slice s1 web a a2 10.9.9.9\n@22 slice t1 api a2\n"
    "@30 slice s1 web a:unready a2\n@35 slice s1 web a a2\n"
    "@40 broken pods until=38\n@41 broken slices until=38\n@45 synced slices\n@46 synced pods\n"
    "@49 pod b ip=10.0.0.4 created=48 rev=r2\n"
    "@50.2 pod a del=50\n@50.4 slice s1 web a:terminating a2\n"
    "@52.6 pod a fin=52 phase=Succeeded\n@52.7 slice s1 web a2\n@53 pod a deleted\n"
    "@55 pod c ip=10.0.0.1 created=54 wl=Deployment/cart rev=x\n@55.5 slice u1 cart c\n"
    "@60 pod a2 ip=10.0.0.2\n@61 pod e noip created=60\n@62 pod e deleted\n"
    "@70.3 end c at=70.2 ip=10.0.0.1\n@70.5 pod c del=69\n"
    "@80 node n1 notready lease=75\n"
    "@85 pod f ip=10.0.0.6 created=84 reason=Evicted phase=Failed\n"
    "@90 slice t1 gone\n@91 broken pods until=89\n";

TEST(ExportTest, NewIndexAnswersTheSame) {
  Story story(kEverything);
  const auto replica = Replica(story.lifecycle(), Story::DefaultOptions());
  for (const std::string_view ip : {"10.0.0.1", "10.0.0.2", "fd00::2", "10.0.0.4", "10.0.0.6",
                                    "10.0.0.9", "10.9.9.9", "192.168.0.1", "10.0.77.1"}) {
    for (double t = 1; t < 100; t += 0.25) {
      ASSERT_EQ(Describe(replica->At(Ip(ip), At(t))), Describe(story.lifecycle().At(Ip(ip), At(t))))
          << ip << " at " << t;
    }
  }
  EXPECT_EQ(DescribeChanges(*replica, At(200)), DescribeChanges(story.lifecycle(), At(200)));
  EXPECT_EQ(replica->pods(), story.lifecycle().pods());
  EXPECT_EQ(replica->tombstones(), story.lifecycle().tombstones());
  EXPECT_EQ(replica->StaleAddresses(At(200)), story.lifecycle().StaleAddresses(At(200)));
  EXPECT_EQ(replica->MeaningOf("shop/api", replica->FindPod(UidOf("a2"))), Meaning::kMeant);
  EXPECT_EQ(replica->MeaningOf("shop/web", replica->FindPod(UidOf("c"))), Meaning::kNotMeant);
}

TEST(ExportTest, NewIndexGoesOnAsTheOldOne) {
  constexpr std::string_view kMore =
      "@95 synced pods\n@96 slice s1 web\n@97 pod a2 del=97\n@98 node n1 ready\n";
  Story story(kEverything);
  const auto replica = Replica(story.lifecycle(), Story::DefaultOptions());
  story.Tell(kMore);
  replica->Apply(FeedChange{Feed::kPods, FeedState::kSynced}, At(95));
  replica->Apply(SliceChange{.ns = "shop", .name = "s1", .service = "web"}, At(96));
  PodChange a2;
  a2.pod = *story.lifecycle().Pod(story.Pod("a2"));
  a2.ips = {Ip("10.0.0.2")};
  a2.phase = PodPhase::kRunning;
  a2.created = WallTime::FromNanos(At(15).nanos());
  a2.deletion_requested = WallTime::FromNanos(At(97).nanos());
  replica->Apply(a2, At(97));
  NodeChange n1;
  n1.name = "n1";
  n1.ready = true;
  n1.addresses = {Ip("192.168.0.1")};
  n1.pod_cidrs = {"10.0.0.0/16"};
  replica->Apply(n1, At(98));
  for (const std::string_view ip : {"10.0.0.1", "10.0.0.2", "fd00::2", "10.9.9.9"}) {
    for (double t = 1; t < 110; t += 0.5) {
      ASSERT_EQ(Describe(replica->At(Ip(ip), At(t))), Describe(story.lifecycle().At(Ip(ip), At(t))))
          << ip << " at " << t;
    }
  }
}

TEST(ExportTest, EveryManualEndpointIsToldAgain) {
  Story story(
      "@10 sync\n@15 slice s0 web 10.9.9.8 10.9.9.9\n@20 pod a ip=10.0.0.1\n"
      "@21 slice s1 web a\n");
  const auto replica = Replica(story.lifecycle(), Story::DefaultOptions());
  replica->Apply(SliceChange{.ns = "shop", .name = "s1", .service = "web"}, At(30));
  for (const std::string_view ip : {"10.9.9.8", "10.9.9.9"}) {
    EXPECT_TRUE(replica->At(Ip(ip), At(40)).listed_without_pod) << ip;
    EXPECT_FALSE(replica->At(Ip(ip), At(40)).listed_with_pod) << ip;
  }
}

TEST(ExportTest, SaidInTheOrderOfObservationAndTheSameEachTime) {
  Story story(kEverything);
  std::vector<BootTime> instants;
  story.lifecycle().Export([&](BootTime observed, const auto&) { instants.push_back(observed); });
  EXPECT_TRUE(std::is_sorted(instants.begin(), instants.end()));
  EXPECT_GT(instants.size(), 20u);
  const auto replica = Replica(story.lifecycle(), Story::DefaultOptions());
  EXPECT_EQ(ExportedPods(*replica), ExportedPods(story.lifecycle()));
}

}  // namespace
}  // namespace phantomd::testing
