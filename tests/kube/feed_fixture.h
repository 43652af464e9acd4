// A FileFeed on a file of the test's own, and the inputs it gave as words:
//   "u1"  "-u1"  "-u1@7" (deleted, not before second 7)  "synced"  "broken@7"  "lost pod_event"
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "agent/kube/file_feed.h"
#include "tests/base/manual_clock.h"
#include "tests/base/temporary_folder.h"
#include "tests/kube/kube_data.h"

namespace phantomd::testing {

inline std::string Seconds(BootTime t) {
  return t.is_set() ? fmt::format("@{}", t.nanos() / 1'000'000'000) : "";
}

inline std::string Word(const Input& input) {
  const auto object = [](const auto& change, const std::string& key) {
    return (change.deleted ? "-" : "") + key + Seconds(change.not_before);
  };
  if (const auto* pod = std::get_if<PodChange>(&input.value)) {
    return object(*pod, pod->pod.uid.value());
  }
  if (const auto* slice = std::get_if<SliceChange>(&input.value))
    return object(*slice, slice->name);
  if (const auto* node = std::get_if<NodeChange>(&input.value)) return object(*node, node->name);
  if (const auto* feed = std::get_if<FeedChange>(&input.value)) {
    return (feed->state == FeedState::kSynced ? "synced" : "broken") + Seconds(feed->good_until);
  }
  if (const auto* loss = std::get_if<Loss>(&input.value)) return "lost " + loss->what;
  if (std::holds_alternative<ClockChange>(input.value)) return "clock";
  return "?";
}

inline std::vector<std::string> Words(const std::vector<Input>& inputs) {
  std::vector<std::string> out;
  for (const Input& input : inputs) out.push_back(Word(input));
  return out;
}

class FeedFixture : public TemporaryFolder {
 protected:
  void Append(const std::string& name, const std::string& bytes) const {
    std::ofstream(PathOf(name), std::ios::binary | std::ios::app) << bytes;
  }
  // Steps until nothing more is to be had.
  static std::vector<Input> Drain(FileFeed& feed) {
    std::vector<Input> out;
    while (feed.Step(out)) {
    }
    return out;
  }
  static std::vector<std::string> News(FileFeed& feed) { return Words(Drain(feed)); }
  void Wait(int seconds) { clock_.Advance(std::chrono::seconds(seconds)); }

  ManualClock clock_{1'000'000'000};
};

}  // namespace phantomd::testing
