// How the edges fare, each in its own words, as the one AgentHealth that status and metrics show.
//
// Pure function.
#pragma once

#include <optional>
#include <string>

#include "agent/envoy/admin_poll_stats.h"
#include "agent/kube/feed_loop.h"
#include "agent/recording/recording_sink.h"
#include "agent/serve/agent_health.h"

namespace phantomd {

// Without a recording nothing is recorded. `state_error`: why the state is not kept; empty: it is,
// or is not to be.
AgentHealth EdgesHealth(const KubeStats& kube, const AdminPollStats& polls,
                        const std::optional<RecordingStats>& recording,
                        const std::string& state_error);

}  // namespace phantomd
