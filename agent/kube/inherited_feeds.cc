#include "agent/kube/inherited_feeds.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace phantomd {

void InheritedFeeds::Learn(const Input& input) {
  if (!first_.is_set()) first_ = input.observed;
  last_ = input.observed;
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, FeedChange>) {
          OfFeed& feed = feeds_[value.feed];
          const bool synced = value.state == FeedState::kSynced;
          if (synced && !feed.synced) feed.since = input.observed;
          if (!synced) feed.good_until = value.good_until;
          feed.synced = synced;
        } else if constexpr (std::is_constructible_v<ObjectChange, const T&>) {
          ObjectChange change = value;
          auto& existing = feeds_[FeedOf(change)].existing;
          std::string key = KeyOf(change);
          if (value.deleted) {
            existing.erase(key);
          } else {
            existing.insert_or_assign(std::move(key), std::move(change));
          }
        }
      },
      input.value);
}

std::vector<Input> InheritedFeeds::Break(Nanos notice) {
  std::vector<Input> out;
  for (auto& [name, feed] : feeds_) {
    if (feed.synced) {
      feed.synced = false;
      feed.good_until = std::max(feed.since, last_ - notice);
      out.push_back({last_, FeedChange{name, FeedState::kBroken, feed.good_until}});
    } else if (!feed.good_until.is_set()) {
      feed.good_until = first_;  // never synced: what was listed existed then or later
    }
  }
  return out;
}

Inheritance InheritedFeeds::Take(Feed feed) {
  OfFeed known = std::move(feeds_[feed]);
  feeds_.erase(feed);
  Inheritance out{.existing = {}, .good_until = known.good_until};
  out.existing.reserve(known.existing.size());
  for (auto& [key, change] : known.existing) out.existing.push_back(std::move(change));
  return out;
}

}  // namespace phantomd
