#include "agent/kube/object_tracker.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace phantomd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

BootTime T(int64_t n) { return BootTime::FromNanos(n); }

PodChange Pod(const std::string& uid, const std::string& name = "p") {
  return {.pod = {.uid = PodUid(uid), .ns = "shop", .name = name},
          .ips = {IpAddr::V4(10, 0, 0, 1)},
          .phase = PodPhase::kRunning};
}

// One word a line: "13 a", "14 -b@10" (deleted, not before 10), "12 broken@10", "14 synced".
std::vector<std::string> Said(const std::vector<Input>& inputs) {
  std::vector<std::string> out;
  for (const Input& input : inputs) {
    std::string line = std::to_string(input.observed.nanos()) + " ";
    const auto object = [&line](const auto& change, const std::string& key) {
      line += (change.deleted ? "-" : "") + key;
      if (change.not_before.is_set()) line += "@" + std::to_string(change.not_before.nanos());
    };
    if (const auto* pod = std::get_if<PodChange>(&input.value)) object(*pod, pod->pod.uid.value());
    if (const auto* slice = std::get_if<SliceChange>(&input.value)) {
      object(*slice, slice->ns + "/" + slice->name);
    }
    if (const auto* node = std::get_if<NodeChange>(&input.value)) object(*node, node->name);
    if (const auto* feed = std::get_if<FeedChange>(&input.value)) {
      line += feed->state == FeedState::kSynced ? "synced" : "broken";
      if (feed->good_until.is_set()) line += "@" + std::to_string(feed->good_until.nanos());
    }
    out.push_back(line);
  }
  return out;
}

TEST(ObjectTrackerTest, FirstListIsSyncedWithoutDeletions) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  tracker.Changed(T(1), Pod("a"), out);
  tracker.Changed(T(2), Pod("a"), out);
  EXPECT_FALSE(tracker.synced());
  tracker.ListComplete(T(3), out);
  tracker.Changed(T(4), Pod("b"), out);
  tracker.Deleted(T(5), Pod("a"), out);
  EXPECT_THAT(Said(out), ElementsAre("1 a", "2 a", "3 synced", "4 b", "5 -a"));
  EXPECT_TRUE(tracker.synced());
  EXPECT_EQ(tracker.size(), 1u);
}

TEST(ObjectTrackerTest, RepeatedListDeletesWhatItLacks) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  for (const char* uid : {"d", "a", "c", "b"}) tracker.Changed(T(1), Pod(uid), out);
  tracker.ListComplete(T(2), out);
  out.clear();
  tracker.Break(T(12), T(10), out);
  tracker.BeginList();
  EXPECT_FALSE(tracker.synced());
  tracker.Changed(T(13), Pod("a"), out);
  tracker.ListComplete(T(14), out);
  EXPECT_THAT(Said(out),
              ElementsAre("12 broken@10", "13 a", "14 -b@10", "14 -c@10", "14 -d@10", "14 synced"));
  EXPECT_EQ(tracker.size(), 1u);
  out.clear();
  tracker.ListComplete(T(15), out);
  EXPECT_THAT(out, IsEmpty());  // nothing is deleted twice
}

TEST(ObjectTrackerTest, SynthesisedDeletionCarriesTheLastState) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  tracker.Changed(T(1), Pod("a", "first"), out);
  tracker.Changed(T(2), Pod("a", "last"), out);
  tracker.ListComplete(T(3), out);
  tracker.Break(T(12), T(10), out);
  tracker.BeginList();
  out.clear();
  tracker.ListComplete(T(14), out);
  PodChange expected = Pod("a", "last");
  expected.deleted = true;
  expected.not_before = T(10);
  EXPECT_EQ(std::get<PodChange>(out[0].value), expected);
}

TEST(ObjectTrackerTest, ReusedNameIsAnotherPod) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  tracker.Changed(T(1), Pod("old", "db-0"), out);
  tracker.ListComplete(T(2), out);
  tracker.Break(T(12), T(10), out);
  tracker.BeginList();
  out.clear();
  tracker.Changed(T(13), Pod("new", "db-0"), out);
  tracker.ListComplete(T(14), out);
  EXPECT_THAT(Said(out), ElementsAre("13 new", "14 -old@10", "14 synced"));
}

TEST(ObjectTrackerTest, DeletionToldInsideAGapHappenedSomeTimeInIt) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  tracker.Changed(T(1), Pod("a"), out);
  tracker.ListComplete(T(2), out);
  tracker.Break(T(12), T(10), out);
  tracker.BeginList();
  out.clear();
  tracker.Deleted(T(13), Pod("a"), out);
  tracker.ListComplete(T(14), out);
  tracker.Deleted(T(15), Pod("b"), out);
  EXPECT_THAT(Said(out), ElementsAre("13 -a@10", "14 synced", "15 -b"));
}

TEST(ObjectTrackerTest, BreakInsideABreakIsOneGap) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  tracker.Changed(T(1), Pod("a"), out);
  tracker.Changed(T(1), Pod("b"), out);
  tracker.ListComplete(T(2), out);
  out.clear();
  tracker.Break(T(12), T(10), out);
  tracker.BeginList();
  tracker.Changed(T(13), Pod("a"), out);
  tracker.Break(T(15), T(14), out);
  tracker.BeginList();  // the list that named a is not this one
  tracker.Changed(T(16), Pod("b"), out);
  tracker.ListComplete(T(17), out);
  EXPECT_THAT(Said(out), ElementsAre("12 broken@10", "13 a", "16 b", "17 -a@10", "17 synced"));
}

TEST(ObjectTrackerTest, SlicesAndNodesAreToldApartByName) {
  ObjectTracker slices(Feed::kSlices);
  ObjectTracker nodes(Feed::kNodes);
  std::vector<Input> out;
  slices.Changed(T(1), SliceChange{.ns = "a", .name = "s"}, out);
  slices.Changed(T(1), SliceChange{.ns = "b", .name = "s"}, out);
  nodes.Changed(T(1), NodeChange{.name = "n"}, out);
  slices.ListComplete(T(2), out);
  nodes.ListComplete(T(2), out);
  for (ObjectTracker* tracker : {&slices, &nodes}) {
    tracker->Break(T(5), T(4), out);
    tracker->BeginList();
  }
  out.clear();
  slices.Changed(T(6), SliceChange{.ns = "b", .name = "s"}, out);
  slices.ListComplete(T(7), out);
  nodes.ListComplete(T(7), out);
  EXPECT_THAT(Said(out), ElementsAre("6 b/s", "7 -a/s@4", "7 synced", "7 -n@4", "7 synced"));
}

TEST(ObjectTrackerTest, ObjectOfAnotherKindIsOurBug) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  EXPECT_DEATH(tracker.Changed(T(1), NodeChange{.name = "n"}, out), "check failed");
}

TEST(ObjectTrackerTest, WhatIsNotUnderstoodIsNotGone) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  const auto unclear = [](WatchEvent::Type type, const char* uid) {
    return WatchEvent{.type = type, .feed = Feed::kPods, .change = Pod(uid), .trouble = "wrong"};
  };
  for (const char* uid : {"a", "b", "c"}) tracker.Changed(T(1), Pod(uid), out);
  tracker.ListComplete(T(2), out);
  tracker.Break(T(12), T(10), out);
  tracker.BeginList();
  out.clear();
  tracker.NotUnderstood(T(13), unclear(WatchEvent::Type::kChanged, "a"), out);
  tracker.NotUnderstood(T(13), unclear(WatchEvent::Type::kChanged, "unknown"), out);
  tracker.Changed(T(13), Pod("c"), out);
  tracker.ListComplete(T(14), out);
  EXPECT_THAT(Said(out), ElementsAre("13 c", "14 -b@10", "14 synced"));
  out.clear();
  tracker.NotUnderstood(T(15), unclear(WatchEvent::Type::kDeleted, "a"), out);
  tracker.NotUnderstood(T(16), unclear(WatchEvent::Type::kDeleted, "unknown"), out);
  EXPECT_THAT(Said(out), ElementsAre("15 -a"));
  EXPECT_EQ(std::get<PodChange>(out[0].value).ips.size(), 1u);  // as it was last known
  EXPECT_EQ(tracker.size(), 1u);
}

TEST(ObjectTrackerTest, WhatAnotherKnewIsDeletedWhereTheFirstListLacksIt) {
  ObjectTracker tracker(Feed::kPods);
  std::vector<Input> out;
  tracker.Inherit({.existing = {Pod("a"), Pod("b"), Pod("c")}, .good_until = T(10)});
  EXPECT_FALSE(tracker.synced());
  EXPECT_EQ(tracker.size(), 3u);
  tracker.Break(T(19), T(18), out);  // the gap is one, and the engine knows of it
  tracker.BeginList();
  tracker.Changed(T(20), Pod("a"), out);
  tracker.Deleted(T(21), Pod("b"), out);
  tracker.ListComplete(T(22), out);
  EXPECT_THAT(Said(out), ElementsAre("20 a", "21 -b@10", "22 -c@10", "22 synced"));
}

Input Told(int64_t at, ObjectChange change) {
  Input input{T(at), {}};
  std::visit([&](auto& value) { input.value = std::move(value); }, change);
  return input;
}

PodChange Gone(const std::string& uid) {
  PodChange change = Pod(uid);
  change.deleted = true;
  return change;
}

std::vector<std::string> Uids(const Inheritance& inheritance) {
  std::vector<std::string> out;
  for (const ObjectChange& change : inheritance.existing) {
    out.push_back(std::get<PodChange>(change).pod.uid.value());
  }
  return out;
}

TEST(InheritedFeedsTest, ExistingIsWhatWasToldLastAndNotDeleted) {
  InheritedFeeds feeds;
  feeds.Learn(Told(5, Pod("a")));
  feeds.Learn(Told(5, Pod("b")));
  feeds.Learn(Told(6, Pod("c")));
  feeds.Learn({T(7), FeedChange{Feed::kPods, FeedState::kSynced, {}}});
  feeds.Learn(Told(8, Gone("b")));
  PodChange ready = Pod("c");
  ready.ready = true;
  feeds.Learn(Told(9, ready));
  feeds.Learn(Told(9, NodeChange{.name = "n1"}));
  feeds.Learn({T(20), ClockChange{}});
  EXPECT_THAT(Said(feeds.Break(Nanos(3))), ElementsAre("20 broken@17"));
  EXPECT_THAT(Said(feeds.Break(Nanos(3))), IsEmpty()) << "once";
  const Inheritance pods = feeds.Take(Feed::kPods);
  EXPECT_EQ(pods.good_until, T(17));
  EXPECT_THAT(Uids(pods), ::testing::UnorderedElementsAre("a", "c"));
  for (const ObjectChange& change : pods.existing) {
    const auto& pod = std::get<PodChange>(change);
    EXPECT_EQ(pod.ready, pod.pod.uid.value() == "c") << "as last told";
  }
  const Inheritance nodes = feeds.Take(Feed::kNodes);
  EXPECT_EQ(nodes.good_until, T(5)) << "never synced: since the first input";
  EXPECT_EQ(nodes.existing.size(), 1u);
  EXPECT_FALSE(feeds.Take(Feed::kSlices).good_until.is_set()) << "nothing was told of it";
}

TEST(InheritedFeedsTest, AWatchWasGoodNoLongerThanItIsKnown) {
  InheritedFeeds feeds;
  feeds.Learn({T(10), FeedChange{Feed::kPods, FeedState::kSynced, {}}});
  feeds.Learn({T(10), FeedChange{Feed::kSlices, FeedState::kSynced, {}}});
  feeds.Learn({T(10), FeedChange{Feed::kNodes, FeedState::kSynced, {}}});
  feeds.Learn({T(15), FeedChange{Feed::kSlices, FeedState::kBroken, T(13)}});
  feeds.Learn({T(15), FeedChange{Feed::kNodes, FeedState::kBroken, T(14)}});
  feeds.Learn({T(19), FeedChange{Feed::kNodes, FeedState::kSynced, {}}});
  feeds.Learn({T(20), ClockChange{}});
  // The nodes' watch is not known to have been alive before it was synced again.
  EXPECT_THAT(Said(feeds.Break(Nanos(5))), ElementsAre("20 broken@15", "20 broken@19"));
  EXPECT_EQ(feeds.Take(Feed::kSlices).good_until, T(13)) << "it was broken already";
}

}  // namespace
}  // namespace phantomd
