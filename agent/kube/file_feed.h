// FileFeed: the objects of one kind from a file that grows, in the format of `kubectl get KIND -A
// -o json --watch --output-watch-events`.
//
// The kind is that of the first object; until then the file's name is the hint (it contains "pod",
// "slice" or "node"). The feed is synced when the file's end is first reached between two objects,
// and not while the file is missing. A broken event is skipped, counted, told to the engine as a
// Loss and named with its line; the events after it are unharmed.
//
// A file that was replaced or became shorter, and an ERROR event, break the feed at the last
// instant at which the file was seen whole. What follows is a repeated list. Nothing marks its end,
// so it is complete when at least one event came and then none for `relist_settle`: kubectl that
// starts again empties the file first, and half a list would end pods that live.
//
//   step: "pods.json" missing                 -> nothing; stats().waiting says so
//   step: ADDED a, ADDED b and half an object -> a, b
//   step: the other half                      -> c, SYNCED
//   step: the file was replaced               -> BROKEN, good until the step before
//   step: ADDED a                             -> a
//   step, relist_settle later                 -> b and c deleted in [good until, now], SYNCED
//
// Thread-compatible. Each object is stamped by the Clock when it is read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/base/clock.h"
#include "agent/kube/event_splitter.h"
#include "agent/kube/file_follower.h"
#include "agent/kube/object_tracker.h"
#include "agent/kube/watch_event.h"
#include "agent/kube/watch_source.h"

namespace phantomd {

class FileFeed : public WatchSource {
 public:
  struct Options {
    std::string path;
    Nanos relist_settle = std::chrono::seconds(1);
  };

  FileFeed(Options options, const Clock& clock);

  bool Step(std::vector<Input>& out) override;
  void AddWaits(Waits& waits) const override;
  const FeedStats& stats() const override { return stats_; }

 private:
  void TakeBytes(std::string_view bytes, std::vector<Input>& out);
  void TakeEvent(int64_t line, WatchEvent event, std::vector<Input>& out);
  void TakeReplacement(std::vector<Input>& out);
  void TakeEnd(std::vector<Input>& out);
  // The first object says which kind this file holds.
  void Confirm(Feed feed, std::vector<Input>& out);
  void Skip(int64_t line, std::string_view what, std::vector<Input>& out);
  void BeginRelist(std::vector<Input>& out);
  std::string At(int64_t line) const;

  const Options options_;
  const Clock& clock_;
  FileFollower follower_;
  EventSplitter splitter_;
  WatchEventParser parser_;
  std::optional<ObjectTracker> tracker_;  // none: the kind is not known yet
  bool confirmed_ = false;                // the kind is that of an object, not of the file's name
  bool listed_ = false;                   // an event came since the list began
  BootTime whole_at_;   // when the file was last seen and was the one that is read
  BootTime last_news_;  // when it last had something new
  FeedStats stats_;
};

}  // namespace phantomd
