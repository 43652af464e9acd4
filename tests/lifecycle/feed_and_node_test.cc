// What broken feeds and lost Nodes leave open.
#include <gtest/gtest.h>

#include "agent/lifecycle/prefix_map.h"
#include "tests/lifecycle/expect_who.h"

namespace phantomd::testing {
namespace {

TEST(FeedGapTest, DeletionHiddenByAGapLiesBehindItsBegin) {
  Story story(
      "@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@30 pod b ip=10.0.0.2 created=15\n"
      "@31 pod c ip=10.0.0.3 created=15\n@44 pod c del=44\n@44.5 pod c fin=44\n"
      "@50 broken pods until=45\n"
      "@60 pod a deleted since=45\n@60 pod c deleted since=45\n"
      "@60 synced pods\n");
  // It may have been force-deleted, and nobody saw it: it may go on serving, though hardly.
  EXPECT_EQ(story.Released("a"), "[43 -]");
  ExpectWho(story, kX,
            {{42.9, "a!"}, {43, "a?~ nobody gap"}, {59.9, "a?~ nobody gap"}, {60, "a?- nobody"}});
  const AddressFacts facts = story.lifecycle().At(Ip(kX), At(70));
  EXPECT_EQ(facts.last.evidence, "missing from a new list");
  EXPECT_EQ(facts.last.likely_released, At(59.9));
  EXPECT_TRUE(story.lifecycle().IsStale(Ip(kX), At(70)));
  EXPECT_EQ(story.Released("c"), "[43.5 44.5]") << "its containers had finished before";
  ExpectWho(story, "10.0.0.2", {{50, "b!"}, {70, "b!"}});  // the new list has it: it lived through
  EXPECT_TRUE(story.lifecycle().At(Ip("10.0.0.2"), At(50)).pods_broken);
}

TEST(FeedGapTest, WhileItLastsNobodyIsSure) {
  Story story("@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@50 broken pods until=45\n");
  ExpectWho(story, kX, {{42.9, "a!"}, {43, "a? nobody gap"}, {100, "a? nobody gap"}});
  EXPECT_FALSE(story.lifecycle().feed(Feed::kPods).synced);
  EXPECT_EQ(story.lifecycle().feed(Feed::kPods).good_until, At(45));
  story.Tell("@90 synced pods\n");
  ExpectWho(story, kX, {{50, "a!"}, {100, "a!"}});
  EXPECT_EQ(story.lifecycle().feed(Feed::kPods).relists, 1u);
}

TEST(FeedGapTest, PodThatAppearsInAGapMayHaveHeldItsAddressSinceCreation) {
  Story story(
      "@10 sync\n@50 broken pods until=45\n@60 pod a ip=10.0.0.1 created=30\n@61 synced pods\n");
  ExpectWho(story, kX, {{29, "nobody"}, {40, "a? nobody"}, {50, "a? nobody gap"}, {60, "a!"}});
}

TEST(FeedGapTest, PodThatANewListLackedAndAnotherShowsWasNeverGone) {
  Story story(
      "@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@50 broken pods until=45\n"
      "@60 pod a deleted since=45\n@61 synced pods\n@62 pod a back\n");
  ExpectWho(story, kX, {{50, "a!"}, {70, "a!"}});
  EXPECT_EQ(story.lifecycle().pods(), 1u);
}

TEST(FeedGapTest, RequestReadInAGapKeepsItsOwnTime) {
  Story story(
      "@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@50 broken pods until=45\n"
      "@60 pod a del=48\n@61 synced pods\n");
  EXPECT_EQ(story.Withdrawn("a"), "[47.5 49.5]");
}

TEST(FeedGapTest, BrokenAgainBeforeItWasMendedKeepsTheEarlierBegin) {
  Story story("@10 sync\n@50 broken pods until=45\n@55 broken pods until=52\n@60 synced pods\n");
  ExpectWho(story, kX, {{42, "nobody"}, {44, "nobody gap"}, {58, "nobody gap"}, {60, "nobody"}});
}

TEST(FeedGapTest, HorizonIsTheFirstSync) {
  Story story("@9 pod a ip=10.0.0.1 created=2\n");
  EXPECT_EQ(story.lifecycle().horizon(), BootTime::Max()) << "nothing is answered yet";
  story.Tell("@10 sync\n");
  EXPECT_EQ(story.lifecycle().horizon(), At(10));
  EXPECT_FALSE(story.lifecycle().At(Ip(kX), At(20)).history_complete)
      << "it was there before the agent";
}

TEST(LostNodeTest, PodsMayHaveDiedSinceTheLastLease) {
  Story story(
      "@5 node n1 ready lease=5\n@10 sync\n@20 pod a ip=10.0.0.1 created=15\n"
      "@141 node n1 notready lease=100\n");
  EXPECT_EQ(story.Released("a"), "[99.5 -]");
  ExpectWho(story, kX, {{99.4, "a!"}, {99.5, "a? nobody"}, {500, "a? nobody"}});
  story.Tell("@200 node n1 ready\n");
  ExpectWho(story, kX, {{120, "a!"}, {500, "a!"}});
}

TEST(LostNodeTest, NewsWrittenForALostNodeBoundsNothing) {
  Story story(
      "@5 node n1 ready lease=5\n@10 sync\n@20 pod a ip=10.0.0.1 created=15\n"
      "@141 node n1 notready lease=100\n"
      "@440.2 pod a del=440\n"
      "@450 pod a phase=Failed deleted\n");
  EXPECT_EQ(story.Released("a"), "[99.5 -]");
  story.Tell("@500 pod b ip=10.0.0.1 created=490 node=n2\n");
  EXPECT_EQ(story.Released("a"), "[99.5 500]") << "but a running pod with the address does";
}

TEST(LostNodeTest, ReportOfAKubeletThatCameBackCounts) {
  Story story(
      "@5 node n1 ready lease=5\n@10 sync\n@20 pod a ip=10.0.0.1 created=15\n"
      "@141 node n1 notready lease=100\n@300 node n1 ready lease=299\n"
      "@301.2 pod a del=250 fin=301 phase=Failed\n");
  EXPECT_EQ(story.Released("a"), "[300.5 301.2]");
}

TEST(LostNodeTest, VanishedNodeIsLostAndWithoutALeaseTheGraceCounts) {
  Story story("@5 node n1 ready\n@10 sync\n@20 pod a ip=10.0.0.1 created=15\n@141 node n1 gone\n");
  EXPECT_EQ(story.Released("a"), "[101 -]");
}

TEST(LostNodeTest, NodeThatIsNotReadyFromTheStartKeepsItsPodsInDoubt) {
  Story story("@5 node n1 notready lease=4\n@9 pod a ip=10.0.0.1 created=2\n@10 sync\n");
  ExpectWho(story, kX, {{20, "a? nobody"}});
}

TEST(NodeTest, AddressesAndRangesOfNodes) {
  Lifecycle::Options options = Story::DefaultOptions();
  options.pod_ranges = {*IpPrefix::Parse("172.20.0.0/16")};
  Story story("@5 node n1 ready addr=192.168.0.1 cidr=10.0.1.0/24\n@10 sync\n", options);
  const auto at = [&](std::string_view ip, double t) {
    return story.lifecycle().At(Ip(ip), At(t));
  };
  EXPECT_TRUE(at("192.168.0.1", 20).node_address);
  EXPECT_FALSE(at("192.168.0.2", 20).node_address);
  EXPECT_TRUE(at("10.0.1.200", 20).in_pod_range);
  EXPECT_TRUE(at("172.20.3.4", 20).in_pod_range);
  EXPECT_FALSE(at("10.0.2.1", 20).in_pod_range);
  EXPECT_TRUE(at("10.0.2.1", 20).pod_ranges_known);
  story.Tell("@30 node n1 gone\n");
  EXPECT_TRUE(at("192.168.0.1", 29).node_address);
  EXPECT_FALSE(at("192.168.0.1", 30).node_address);
  EXPECT_FALSE(Story("@10 sync\n").lifecycle().At(Ip("10.0.0.1"), At(20)).pod_ranges_known);
}

// A proxy may go on believing in its pods; and what is told now is true of each instant before.
TEST(NodeTest, RangeOfAGoneNodeStaysOneOfPodsUntilItIsForgotten) {
  Story story(
      "@5 node n1 ready cidr=10.0.1.0/24\n@6 node n2 ready cidr=10.0.2.0/24\n@10 sync\n"
      "@30 node n1 gone\n@35 node n3 ready cidr=10.0.3.0/24\n@40 node n2 gone\n"
      "@45 node n4 ready cidr=10.0.2.0/24\n");
  const auto in_range = [&](std::string_view ip) {
    return story.lifecycle().At(Ip(ip), At(60)).in_pod_range;
  };
  EXPECT_TRUE(in_range("10.0.1.7"));
  story.lifecycle().Compact(At(31));
  EXPECT_FALSE(in_range("10.0.1.7"));
  story.lifecycle().Compact(At(50));
  EXPECT_TRUE(in_range("10.0.2.7")) << "another Node has it now";
  EXPECT_TRUE(in_range("10.0.3.7"));
}

TEST(NodeTest, RangeThatAnotherNodeTookOverSurvivesItsFirstOwner) {
  Story story(
      "@5 node n1 ready cidr=10.0.1.0/24\n@10 sync\n@20 node n2 ready cidr=10.0.1.0/24\n"
      "@30 node n1 gone\n");
  story.lifecycle().Compact(At(50));
  EXPECT_TRUE(story.lifecycle().At(Ip("10.0.1.7"), At(60)).in_pod_range);
}

// Who waits for an address on a Node that took over the range is not yet known to be there.
TEST(NodeTest, AnyUntoldPodMayHoldAnAddressOfAGoneNodesRange) {
  Story story(
      "@5 node n1 ready cidr=10.0.1.0/24\n@6 node n2 ready cidr=10.0.2.0/24\n@10 sync\n"
      "@20 pod a node=n3 created=19\n");
  const auto untold = [&](std::string_view ip) {
    return story.lifecycle().At(Ip(ip), At(60)).untold;
  };
  EXPECT_EQ(untold("10.0.1.7"), UntoldReason::kNone);
  story.Tell("@30 node n1 gone\n");
  EXPECT_EQ(untold("10.0.1.7"), UntoldReason::kAddressUntold);
  EXPECT_EQ(untold("10.0.2.7"), UntoldReason::kNone);
}

struct BlockRow {
  const char* rule;
  const char* news;
  const char* ip;
  bool no_pod_address;
};

TEST(PodRangesTest, WhereNoPodCanBe) {
  const char kNode[] = "@5 node n1 ready cidr=10.0.1.0/24\n@10 sync\n";
  const char kPublic[] = "@5 node n1 ready cidr=198.51.100.0/24\n@10 sync\n";
  const char kV6[] = "@5 node n1 ready cidr=fd00:1::/64\n@10 sync\n";
  const char kPod[] = "@5 node n1 ready cidr=10.0.1.0/24\n@10 sync\n@20 pod a ip=172.16.0.1\n";
  const char kSlice[] =
      "@5 node n1 ready cidr=10.0.1.0/24\n@10 sync\n@20 pod a ip=10.0.1.1\n@21 slice s web a\n";
  const BlockRow rows[] = {
      {"nothing is told", "@10 sync\n", "203.0.113.1", false},
      {"in the Node's range", kNode, "10.0.1.1", false},
      {"a gone Node's range may be beside it", kNode, "10.200.0.1", false},
      {"another private block", kNode, "172.16.0.1", true},
      {"just outside that block", kPod, "172.32.0.1", true},
      {"another private block", kNode, "192.168.0.1", true},
      {"another private block", kNode, "100.64.0.1", true},
      {"a public address", kNode, "203.0.113.1", true},
      {"another family", kNode, "2001:db8::1", true},
      {"another family", kNode, "fd00:1::1", true},
      {"pods with public addresses", kPublic, "203.0.113.1", false},
      {"pods with public addresses", kPublic, "10.0.0.1", true},
      {"pods with public addresses of one family", kPublic, "2001:db8::1", true},
      {"private, of the other family", kV6, "fd12::1", false},
      {"private, of the other family", kV6, "2001:db8::1", true},
      {"a pod was seen there", kPod, "172.31.255.255", false},
      {"ever held", kSlice, "10.0.1.1", false},
  };
  for (const BlockRow& row : rows) {
    EXPECT_EQ(Story(row.news).lifecycle().At(Ip(row.ip), At(60)).no_pod_address, row.no_pod_address)
        << row.rule << ": " << row.ip;
  }
}

// All of a cluster's ranges lie in the one that the operator tells, if those of its Nodes do.
TEST(PodRangesTest, AGivenRangeStandsForItsBlock) {
  Lifecycle::Options options = Story::DefaultOptions();
  options.pod_ranges = {*IpPrefix::Parse("10.0.0.0/16")};
  Story story("@5 node n1 ready cidr=10.0.1.0/24\n@10 sync\n@20 pod a ip=10.0.1.1\n", options);
  const auto none = [&](std::string_view ip) {
    return story.lifecycle().At(Ip(ip), At(60)).no_pod_address;
  };
  EXPECT_FALSE(none("10.0.9.1"));
  EXPECT_TRUE(none("10.1.0.1"));
  story.Tell("@30 node n2 ready cidr=10.9.1.0/24\n");
  EXPECT_FALSE(none("10.1.0.1")) << "not all, as it turns out";
}

TEST(PodRangesTest, AddressesThatASliceOrAnExportNamesForPodsCountToo) {
  Story story("@5 node n1 ready cidr=10.0.1.0/24\n@10 sync\n");
  const auto none = [&](std::string_view ip) {
    return story.lifecycle().At(Ip(ip), At(60)).no_pod_address;
  };
  SliceChange slice{.ns = "shop", .name = "s1", .service = "web"};
  slice.endpoints.push_back({.addresses = {Ip("172.16.0.1")}, .pod_uid = PodUid("untold")});
  story.lifecycle().Apply(slice, At(20));
  EXPECT_FALSE(none("172.16.9.1"));
  EXPECT_TRUE(none("192.168.9.1"));
  story.lifecycle().Restore(AddressRemnants{.addresses = {{.ip = Ip("192.168.0.1")}}});
  EXPECT_FALSE(none("192.168.9.1"));
}

TEST(PodRangesTest, BlockIsForgottenWithTheLastThatWasInIt) {
  Story story(
      "@5 node n1 ready cidr=10.0.1.0/24\n@6 node n2 ready cidr=172.16.1.0/24\n@10 sync\n"
      "@20 pod a ip=192.168.0.1\n@25 node n2 gone\n@30 pod a phase=Failed deleted\n");
  const auto none = [&](std::string_view ip) {
    return story.lifecycle().At(Ip(ip), At(60)).no_pod_address;
  };
  story.lifecycle().Compact(At(25));
  EXPECT_FALSE(none("172.16.9.1"));
  EXPECT_FALSE(none("192.168.9.1"));
  story.lifecycle().Compact(At(50));
  EXPECT_TRUE(none("172.16.9.1"));
  EXPECT_TRUE(none("192.168.9.1"));
  EXPECT_FALSE(none("10.9.0.1"));
}

TEST(PrefixMapTest, LongestRangeWins) {
  PrefixMap map;
  map.Set(*IpPrefix::Parse("10.0.0.0/16"), "b");
  map.Set(*IpPrefix::Parse("10.0.1.0/24"), "a");
  map.Set(*IpPrefix::Parse("fd00:1::/61"), "c");
  EXPECT_EQ(*map.Find(Ip("10.0.1.7")), "a");
  EXPECT_EQ(*map.Find(Ip("10.0.2.7")), "b");
  EXPECT_EQ(map.Find(Ip("10.1.0.1")), nullptr);
  EXPECT_EQ(*map.Find(Ip("fd00:1:0:7::5")), "c");
  EXPECT_EQ(map.Find(Ip("fd00:1:0:8::5")), nullptr);
  map.Erase(*IpPrefix::Parse("10.0.1.0/24"));
  EXPECT_EQ(*map.Find(Ip("10.0.1.7")), "b");
}

}  // namespace
}  // namespace phantomd::testing
