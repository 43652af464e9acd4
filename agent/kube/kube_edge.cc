#include "agent/kube/kube_edge.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace phantomd {

KubeEdge::KubeEdge(std::unique_ptr<FeedLoop> loop, Mailbox<EdgePost>& core)
    : loop_(std::move(loop)), core_(core) {
  if (loop_->has_sources()) {
    thread_ = std::thread([this] { Run(); });
  } else {
    core_.Post({Edge::kKube, BootTime::Max()});
  }
}

KubeEdge::~KubeEdge() { Stop(); }

void KubeEdge::Stop() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

void KubeEdge::Run() {
  FeedLoop::Outcome outcome = FeedLoop::Outcome::kIdle;
  while (!stopping_ && outcome != FeedLoop::Outcome::kClosed) {
    outcome = loop_->Step();
    SayNewErrors();
    if (outcome == FeedLoop::Outcome::kIdle) loop_->Wait();
  }
  core_.Post({Edge::kKube, BootTime::Max()});
}

void KubeEdge::SayNewErrors() {
  const std::shared_ptr<const KubeStats> stats = loop_->stats();
  said_.resize(stats->feeds.size());
  said_waiting_.resize(stats->feeds.size());
  for (size_t i = 0; i < said_.size(); ++i) {
    const FeedStats& feed = stats->feeds[i];
    // Once synced, a file that has not grown yet is nothing to speak of.
    const bool is_error = feed.waiting == feed.last_error;  // said below
    if (!feed.synced && !feed.waiting.empty() && !is_error && feed.waiting != said_waiting_[i]) {
      said_waiting_[i] = feed.waiting;
      spdlog::warn("{}", feed.waiting);
    }
    if (feed.last_error == said_[i]) continue;
    said_[i] = feed.last_error;
    spdlog::warn("{} ({} skipped so far)", feed.last_error, feed.skipped);
  }
}

}  // namespace phantomd
