// The whole pipeline against a naive model: a random cluster writes its events in random pieces,
// now and then the file is broken, cut or replaced, and whenever the feed says that it is synced,
// what it told adds up to the pods that exist.

#include <map>
#include <random>
#include <set>

#include "agent/kube/file_feed.h"
#include "tests/kube/feed_fixture.h"

namespace phantomd {
namespace {

using testing::PodLine;

class FileFeedModelTest : public testing::FeedFixture, public ::testing::WithParamInterface<int> {};

// What a listener who believes every input knows.
class Listener {
 public:
  void Hear(const std::vector<Input>& inputs) {
    for (const Input& input : inputs) {
      ASSERT_GE(input.observed, last_);
      last_ = input.observed;
      if (const auto* pod = std::get_if<PodChange>(&input.value)) {
        ASSERT_LE(pod->not_before, input.observed);
        if (pod->deleted) {
          pods.erase(pod->pod.uid.value());
        } else {
          pods[pod->pod.uid.value()] = pod->phase;
        }
      } else if (const auto* feed = std::get_if<FeedChange>(&input.value)) {
        synced = feed->state == FeedState::kSynced;
      } else if (std::holds_alternative<Loss>(input.value)) {
        ++lost;
      }
    }
  }

  std::map<std::string, PodPhase> pods;
  bool synced = false;
  uint64_t lost = 0;

 private:
  BootTime last_;
};

TEST_P(FileFeedModelTest, WhatIsToldAddsUpToWhatExists) {
  std::mt19937 random(GetParam());
  SCOPED_TRACE(fmt::format("seed {}", GetParam()));
  const auto one_in = [&random](int n) { return static_cast<int>(random() % n) == 0; };

  FileFeed feed({.path = Write("pods.json", "")}, clock_);
  Listener listener;
  std::map<std::string, PodPhase> exist;
  std::map<std::string, int> number;
  std::string pending;  // printed by kubectl, not yet in the file
  uint64_t broken = 0;
  int next = 0;
  for (int step = 0; step < 400; ++step) {
    clock_.Advance(std::chrono::milliseconds(10));
    if (exist.empty() || one_in(3)) {
      const std::string uid = fmt::format("u{}", ++next);
      number[uid] = next;
      exist[uid] = PodPhase::kRunning;
      pending += PodLine("ADDED", next);
    } else {
      auto pod = std::next(exist.begin(), random() % exist.size());
      if (one_in(3)) {
        pending += PodLine("DELETED", number[pod->first]);
        exist.erase(pod);
      } else {
        pod->second = PodPhase::kSucceeded;
        pending += PodLine("MODIFIED", number[pod->first], "Succeeded");
      }
    }
    if (one_in(20)) {
      pending += "{\"type\":\"ADDED\",\"object\":{\n";
      ++broken;
    }
    if (one_in(40)) {  // kubectl starts again: the file holds nothing but what exists now
      pending.clear();
      if (one_in(2)) std::filesystem::remove(PathOf("pods.json"));
      Write("pods.json", "");
      for (const auto& [uid, phase] : exist) {
        pending +=
            PodLine("ADDED", number[uid], phase == PodPhase::kRunning ? "Running" : "Succeeded");
      }
      std::vector<Input> out;
      feed.Step(out);  // the feed looks at least once while the file is short
      listener.Hear(out);
    }
    const size_t part = one_in(2) ? pending.size() : random() % (pending.size() + 1);
    Append("pods.json", pending.substr(0, part));
    pending.erase(0, part);
    listener.Hear(Drain(feed));
  }
  Append("pods.json", pending + PodLine("ADDED", 9999));
  exist["u9999"] = PodPhase::kRunning;
  listener.Hear(Drain(feed));
  clock_.Advance(std::chrono::seconds(2));
  listener.Hear(Drain(feed));
  EXPECT_TRUE(listener.synced);
  EXPECT_EQ(listener.pods, exist);
  EXPECT_EQ(feed.stats().objects, exist.size());
  EXPECT_EQ(listener.lost, feed.stats().skipped);
  EXPECT_GT(broken, 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FileFeedModelTest, ::testing::Range(1, 31));

}  // namespace
}  // namespace phantomd
