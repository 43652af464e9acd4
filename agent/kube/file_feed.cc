#include "agent/kube/file_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "agent/base/strings.h"

namespace phantomd {
namespace {

constexpr Nanos kFileLook = std::chrono::milliseconds(20);  // how often the file is looked at

// What the file's own name says about its kind, if it says one thing.
Feed HintOf(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool pods = name.find("pod") != std::string::npos;
  const bool slices = name.find("slice") != std::string::npos;
  const bool nodes = name.find("node") != std::string::npos;
  if (pods + slices + nodes != 1) return Feed::kUnspecified;
  return pods ? Feed::kPods : slices ? Feed::kSlices : Feed::kNodes;
}

}  // namespace

FileFeed::FileFeed(Options options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), follower_(options_.path) {
  stats_.source = fmt::format("file:{}", options_.path);
  stats_.feed = HintOf(options_.path);
  if (stats_.feed != Feed::kUnspecified) tracker_.emplace(stats_.feed);
}

void FileFeed::AddWaits(Waits& waits) const { waits.at_most = std::min(waits.at_most, kFileLook); }

bool FileFeed::Step(std::vector<Input>& out) {
  const BootTime before = clock_.Now();
  std::string bytes;
  bool more = false;
  switch (follower_.Step(bytes)) {
    case FileFollower::Found::kMissing:
      stats_.waiting = follower_.trouble();
      break;
    case FileFollower::Found::kReplaced:
      TakeReplacement(out);
      more = true;
      break;
    case FileFollower::Found::kBytes:
      whole_at_ = before;
      TakeBytes(bytes, out);
      more = true;
      break;
    case FileFollower::Found::kEnd:
      whole_at_ = before;
      TakeEnd(out);
      break;
  }
  stats_.synced = tracker_ && tracker_->synced();
  stats_.objects = tracker_ ? tracker_->size() : 0;
  return more;
}

void FileFeed::TakeBytes(std::string_view bytes, std::vector<Input>& out) {
  splitter_.Add(bytes);
  last_news_ = clock_.Now();
  while (const std::optional<EventSplitter::Piece> piece = splitter_.Next()) {
    if (!piece->trouble.empty()) {
      Skip(piece->line, piece->trouble, out);
    } else if (absl::StatusOr<WatchEvent> event = parser_.Parse(piece->text); event.ok()) {
      TakeEvent(piece->line, *std::move(event), out);
    } else {
      Skip(piece->line, FromAbsl(event.status().message()), out);
    }
  }
}

void FileFeed::TakeEvent(int64_t line, WatchEvent event, std::vector<Input>& out) {
  if (event.type == WatchEvent::Type::kError) {
    stats_.last_error = fmt::format("{}: the watch ended: {}", At(line), ToString(event.error));
    BeginRelist(out);
    return;
  }
  if (!confirmed_) Confirm(event.feed, out);
  if (event.feed != tracker_->feed()) {
    Skip(line,
         fmt::format("a {} in a file of {}s", KindName(event.feed), KindName(tracker_->feed())),
         out);
    return;
  }
  listed_ = true;
  if (!event.trouble.empty()) {
    Skip(line, event.trouble, out);
    tracker_->NotUnderstood(clock_.Now(), event, out);
    return;
  }
  ++stats_.events;
  if (event.type == WatchEvent::Type::kChanged) {
    tracker_->Changed(clock_.Now(), std::move(event.change), out);
  } else if (event.type == WatchEvent::Type::kDeleted) {
    tracker_->Deleted(clock_.Now(), std::move(event.change), out);
  }
}

void FileFeed::TakeReplacement(std::vector<Input>& out) {
  if (const int64_t line = splitter_.incomplete_line(); line != 0) {
    Skip(line, "the object was incomplete when the file was replaced", out);
  }
  stats_.last_error = fmt::format("{}: its objects are listed anew", follower_.trouble());
  splitter_ = EventSplitter();
  BeginRelist(out);
}

void FileFeed::BeginRelist(std::vector<Input>& out) {
  ++stats_.relists;
  listed_ = false;
  if (!tracker_) return;
  tracker_->Break(clock_.Now(), whole_at_, out);
  tracker_->BeginList();
}

void FileFeed::TakeEnd(std::vector<Input>& out) {
  stats_.waiting.clear();
  if (const int64_t line = splitter_.incomplete_line(); line != 0) {
    stats_.waiting = fmt::format("{}: the object is not complete yet", At(line));
    return;
  }
  if (!tracker_) {
    stats_.waiting = fmt::format(
        "{} holds no object yet, and its name says neither pod, slice nor node", options_.path);
    return;
  }
  if (tracker_->synced()) return;
  const bool repeated = stats_.relists > 0;
  if (repeated && !listed_) {
    stats_.waiting =
        fmt::format("{} holds none of the objects that are listed anew", options_.path);
  } else if (!repeated || clock_.Now() - last_news_ >= options_.relist_settle) {
    tracker_->ListComplete(clock_.Now(), out);
  }
}

void FileFeed::Confirm(Feed feed, std::vector<Input>& out) {
  confirmed_ = true;
  if (tracker_ && tracker_->feed() == feed) return;
  // The name was misleading: what was said about the other kind does not hold.
  if (tracker_ && tracker_->synced()) tracker_->Break(clock_.Now(), whole_at_, out);
  tracker_.emplace(feed);
  stats_.feed = feed;
}

void FileFeed::Skip(int64_t line, std::string_view what, std::vector<Input>& out) {
  ++stats_.skipped;
  stats_.last_error = fmt::format("{}: an event was skipped: {}", At(line), what);
  const BootTime now = clock_.Now();
  const Feed feed = tracker_ ? tracker_->feed() : Feed::kUnspecified;
  out.push_back({now, Loss{.what = fmt::format("{}_event", KindName(feed)),
                           .count = 1,
                           .from = whole_at_,
                           .to = now}});
}

std::string FileFeed::At(int64_t line) const { return fmt::format("{}:{}", options_.path, line); }

}  // namespace phantomd
