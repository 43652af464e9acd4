#include "agent/kube/feed_loop.h"

#include <fmt/format.h>

#include <utility>

namespace phantomd {

FeedLoop::FeedLoop(std::vector<std::unique_ptr<WatchSource>> sources, WallOffset told,
                   const Clock& clock, Mailbox<EdgePost>& core)
    : sources_(std::move(sources)), clock_watch_(told), clock_(clock), core_(core) {}

const WatchSource* FeedLoop::Rival(size_t index) const {
  const Feed feed = sources_[index]->stats().feed;
  if (feed == Feed::kUnspecified) return nullptr;
  for (size_t i = 0; i < index; ++i) {
    if (sources_[i]->stats().feed == feed) return sources_[i].get();
  }
  return nullptr;
}

FeedLoop::Outcome FeedLoop::Step() {
  bool more = false;
  for (size_t i = 0; i < sources_.size(); ++i) {
    std::vector<Input> inputs;
    const bool source_has_more = sources_[i]->Step(inputs);
    more = more || source_has_more;
    if (Rival(i) != nullptr) {
      // What it takes back about another kind still holds.
      const Feed refused = sources_[i]->stats().feed;
      std::erase_if(inputs, [refused](const Input& input) {
        const auto* change = std::get_if<FeedChange>(&input.value);
        return change == nullptr || change->feed == refused;
      });
    }
    for (Input& input : inputs) {
      if (!core_.Post({Edge::kKube, std::move(input)})) return Outcome::kClosed;
    }
  }
  if (const std::optional<WallOffset> offset = clock_watch_.Check(clock_)) {
    if (!core_.Post({Edge::kKube, Input{clock_.Now(), ClockChange{*offset}}})) {
      return Outcome::kClosed;
    }
  }
  PublishStats();
  if (!core_.Post({Edge::kKube, clock_.Now()})) return Outcome::kClosed;
  return more ? Outcome::kMore : Outcome::kIdle;
}

void FeedLoop::Wait() const {
  Waits waits;
  for (const auto& source : sources_) source->AddWaits(waits);
  // Rounded up: what is rounded down is waited for in a loop that does nothing else.
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(waits.at_most).count();
  poll(waits.sockets.data(), waits.sockets.size(), static_cast<int>(millis));
}

void FeedLoop::PublishStats() {
  KubeStats now;
  for (size_t i = 0; i < sources_.size(); ++i) {
    now.feeds.push_back(sources_[i]->stats());
    if (const WatchSource* rival = Rival(i)) {
      FeedStats& refused = now.feeds.back();
      refused.synced = false;
      refused.last_error = fmt::format("{} is not followed: {} already tells of the same kind",
                                       refused.source, rival->stats().source);
    }
  }
  if (now.feeds != stats_.Get()->feeds) {
    stats_.Set(std::make_shared<const KubeStats>(std::move(now)));
  }
}

}  // namespace phantomd
