// FeedLoop steps through all Kubernetes feeds and posts what they tell to the core.
//
// One Step() gives every source its turn, then tells a moved wall clock, then posts the low mark:
// "nothing observed earlier than this will come from me". All stamps of one loop are taken on its
// thread in order, so the mark is simply the time after the last post. Two sources of one kind
// would contradict each other; the later one is refused, and its stats say so.
//
// Thread-compatible, but for stats(), which any thread may read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/base/clock.h"
#include "agent/base/mailbox.h"
#include "agent/base/published.h"
#include "agent/engine/edge_post.h"
#include "agent/kube/clock_watch.h"
#include "agent/kube/watch_source.h"

namespace phantomd {

struct KubeStats {
  std::vector<FeedStats> feeds;
};

class FeedLoop {
 public:
  // `told`: the offset in the Header.
  FeedLoop(std::vector<std::unique_ptr<WatchSource>> sources, WallOffset told, const Clock& clock,
           Mailbox<EdgePost>& core);

  enum class Outcome {
    kIdle,    // nothing more to be had at once
    kMore,    // there is
    kClosed,  // the core takes nothing any more
  };
  Outcome Step();

  // Until a source has something to do, or it is time to say that there was nothing.
  void Wait() const;

  bool has_sources() const { return !sources_.empty(); }
  std::shared_ptr<const KubeStats> stats() const { return stats_.Get(); }

 private:
  // The source before `index` that tells the same kind, or null.
  const WatchSource* Rival(size_t index) const;
  void PublishStats();

  const std::vector<std::unique_ptr<WatchSource>> sources_;
  ClockWatch clock_watch_;
  const Clock& clock_;
  Mailbox<EdgePost>& core_;
  Published<KubeStats> stats_;
};

}  // namespace phantomd
