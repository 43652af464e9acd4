#include "agent/cmd/daemon/edges_health.h"

#include <fmt/format.h>

#include "agent/lifecycle/feed_name.h"

namespace phantomd {
namespace {

const char* SourceName(Feed feed) {
  return feed == Feed::kUnspecified ? "unknown feed" : NameOf(feed);
}

void AddFeed(const FeedStats& feed, AgentHealth& out) {
  out.skipped[SourceName(feed.feed)] += feed.skipped;
  const std::string& why = feed.waiting.empty() ? feed.last_error : feed.waiting;
  if (!feed.synced && feed.feed != Feed::kUnspecified) {
    out.feed_errors.emplace(feed.feed, why);
  } else if (!feed.synced) {
    // Nothing in it has told its kind yet: it has no line of its own.
    out.limitations.push_back(why.empty() ? feed.source + ": has told nothing yet" : why);
  }
  if (!feed.last_error.empty() && (feed.synced || feed.last_error != why)) {
    out.limitations.push_back(feed.last_error);
  }
}

}  // namespace

AgentHealth EdgesHealth(const KubeStats& kube, const AdminPollStats& polls,
                        const std::optional<RecordingStats>& recording,
                        const std::string& state_error) {
  AgentHealth out;
  if (kube.feeds.empty()) {
    out.limitations.push_back("no Kubernetes feed is followed (--feed): no pod is known");
  }
  for (const FeedStats& feed : kube.feeds) AddFeed(feed, out);
  out.admin_polls = {.bounds = {AdminPollStats::kBounds.begin(), AdminPollStats::kBounds.end()},
                     .buckets = {polls.buckets.begin(), polls.buckets.end()},
                     .sum_seconds = polls.seconds,
                     .count = polls.polls};
  for (const auto& [kind, count] : polls.errors) out.admin_poll_errors += count;
  for (const auto& [proxy, sentence] : polls.limitations) out.limitations.push_back(sentence);
  if (recording.has_value() && !recording->error.empty()) {
    out.limitations.push_back(
        fmt::format("{}; {} inputs since then are not in it", recording->error, recording->lost));
  }
  if (!state_error.empty()) {
    out.limitations.push_back(
        fmt::format("{}; a restart would go on from what was kept before", state_error));
  }
  return out;
}

}  // namespace phantomd
