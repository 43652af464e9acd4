#include "agent/kube/object_tracker.h"

#include <algorithm>
#include <utility>

#include "agent/base/check.h"

namespace phantomd {
namespace {

Input AsInput(BootTime observed, ObjectChange change) {
  Input out{.observed = observed, .value = {}};
  std::visit([&](auto& value) { out.value = std::move(value); }, change);
  return out;
}

void MarkDeleted(ObjectChange& change, BootTime not_before) {
  std::visit(
      [&](auto& value) {
        value.deleted = true;
        value.not_before = not_before;
      },
      change);
}

}  // namespace

void ObjectTracker::Inherit(Inheritance inheritance) {
  for (ObjectChange& change : inheritance.existing) {
    PHANTOMD_CHECK(FeedOf(change) == feed_);
    std::string key = KeyOf(change);
    known_[std::move(key)] = Known{std::move(change), list_};
  }
  broken_ = true;
  good_until_ = inheritance.good_until;
}

void ObjectTracker::Changed(BootTime observed, ObjectChange change, std::vector<Input>& out) {
  PHANTOMD_CHECK(FeedOf(change) == feed_);
  known_[KeyOf(change)] = Known{change, list_};
  out.push_back(AsInput(observed, std::move(change)));
}

void ObjectTracker::Deleted(BootTime observed, ObjectChange change, std::vector<Input>& out) {
  PHANTOMD_CHECK(FeedOf(change) == feed_);
  known_.erase(KeyOf(change));
  // While the watch is broken this is old news: it may have happened at any time of the gap.
  MarkDeleted(change, broken_ ? good_until_ : BootTime());
  out.push_back(AsInput(observed, std::move(change)));
}

void ObjectTracker::NotUnderstood(BootTime observed, const WatchEvent& event,
                                  std::vector<Input>& out) {
  const auto known = known_.find(KeyOf(event.change));
  if (known == known_.end()) return;
  if (event.type == WatchEvent::Type::kDeleted) {
    ObjectChange last = std::move(known->second.last);
    Deleted(observed, std::move(last), out);
  } else {
    known->second.list = list_;
  }
}

void ObjectTracker::Break(BootTime observed, BootTime good_until, std::vector<Input>& out) {
  if (broken_) return;
  broken_ = true;
  synced_ = false;
  good_until_ = good_until;
  out.push_back({observed, FeedChange{feed_, FeedState::kBroken, good_until}});
}

void ObjectTracker::BeginList() { ++list_; }

void ObjectTracker::ListComplete(BootTime observed, std::vector<Input>& out) {
  std::vector<std::string> missing;
  for (const auto& [key, known] : known_) {
    if (known.list != list_) missing.push_back(key);
  }
  std::sort(missing.begin(), missing.end());  // the map's order differs from run to run
  for (const std::string& key : missing) {
    auto node = known_.extract(key);
    MarkDeleted(node.mapped().last, good_until_);
    out.push_back(AsInput(observed, std::move(node.mapped().last)));
  }
  if (!synced_) out.push_back({observed, FeedChange{feed_, FeedState::kSynced, {}}});
  synced_ = true;
  broken_ = false;
}

}  // namespace phantomd
