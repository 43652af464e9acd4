// KubeEdge follows the Kubernetes feeds on a thread of its own.
//
// News of a server is read as it comes, that of a file 20 ms later at most; a low mark is at most
// 100 ms old. Without any source there is nothing to wait for: the edge posts the last low mark,
// BootTime::Max(), and runs no thread. A new error of a feed is logged once.
//
// Post() blocks while the core's mailbox is full, so Stop() returns only when the core takes what
// is there or has closed its mailbox. Owned and stopped by one thread; stats() may be read by any.
#pragma once

#include <atomic>
#include <memory>
#include <thread>

#include "agent/base/mailbox.h"
#include "agent/kube/feed_loop.h"

namespace phantomd {

class KubeEdge {
 public:
  KubeEdge(std::unique_ptr<FeedLoop> loop, Mailbox<EdgePost>& core);
  ~KubeEdge();  // stops
  KubeEdge(const KubeEdge&) = delete;
  KubeEdge& operator=(const KubeEdge&) = delete;

  // Posts the last low mark, and nothing after it.
  void Stop();

  std::shared_ptr<const KubeStats> stats() const { return loop_->stats(); }

 private:
  void Run();
  void SayNewErrors();

  const std::unique_ptr<FeedLoop> loop_;
  Mailbox<EdgePost>& core_;
  std::atomic<bool> stopping_{false};
  // Of each feed: the last error that was logged, and the last reason why nothing comes from it.
  std::vector<std::string> said_;
  std::vector<std::string> said_waiting_;
  std::thread thread_;
};

}  // namespace phantomd
