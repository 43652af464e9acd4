// How the edges fare, each in its own words, as the one AgentHealth that status and metrics show.
//
// Pure function.
#pragma once

#include <optional>

#include "agent/envoy/admin_poll_stats.h"
#include "agent/kube/feed_loop.h"
#include "agent/recording/recording_sink.h"
#include "agent/serve/agent_health.h"

namespace phantomd {

struct RecorderState {
  RecordingStats stats;
  uint64_t blocked = 0;  // how often the core had to wait for the writer
};

// Without a recorder nothing is recorded.
AgentHealth EdgesHealth(const KubeStats& kube, const AdminPollStats& polls,
                        const std::optional<RecorderState>& recorder);

}  // namespace phantomd
