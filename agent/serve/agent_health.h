// AgentHealth: how the agent itself fares, as far as the engine cannot know it: its edges fill it
// in, the status and the metrics show it.
//
// A plain value; published whole, like the report.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/ledger/metric_cells.h"
#include "agent/lifecycle/changes.h"

namespace phantomd {

// Upper bounds in seconds of phantom_agent_admin_poll_seconds; one more bucket holds the rest.
inline constexpr std::array<double, 14> kAdminPollBuckets = {
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10};

struct AgentHealth {
  Histogram admin_polls;  // from sending a request to its whole answer
  uint64_t admin_poll_errors = 0;
  std::map<Feed, std::string> feed_errors;  // why a feed is broken, where it is
  // One sentence each: a missing hook, an unreadable process, statistics that a proxy does not
  // keep, ...
  std::vector<std::string> limitations;
  // Input that could not be understood and was skipped, by its source: "pods", "admin", ...
  std::map<std::string, uint64_t> skipped;
  // How often a sender had to wait for room in a mailbox, by mailbox: "core", "recording", ...
  std::map<std::string, uint64_t> mailbox_blocked;
};

}  // namespace phantomd
