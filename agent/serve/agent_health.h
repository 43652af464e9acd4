// AgentHealth: how the agent itself fares, as far as the engine cannot know it: its edges fill it
// in, the status and the metrics show it.
//
// A plain value; published whole, like the report: nobody changes it then, any thread may read it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "agent/lifecycle/changes.h"

namespace phantomd {

// Durations by size. The last bucket has no bound; counts are not cumulative.
struct DurationHistogram {
  std::vector<double> bounds;     // seconds, ascending
  std::vector<uint64_t> buckets;  // one more than bounds
  double sum_seconds = 0;
  uint64_t count = 0;
};

struct AgentHealth {
  DurationHistogram admin_polls;  // from sending a request to its whole answer
  uint64_t admin_poll_errors = 0;
  std::map<Feed, std::string> feed_errors;  // why a feed is broken, where it is
  // One sentence each: a missing hook, an unreadable process, statistics that a proxy does not
  // keep, ...
  std::vector<std::string> limitations;
  // Input that could not be understood and was skipped, by its source: "pods", "admin", ...
  std::map<std::string, uint64_t> skipped;
  // Records of the kernel's, by kind: what it made is read but for the latest, and what happened is
  // what it made and what was lost.
  struct KernelRecords {
    uint64_t made = 0;
    uint64_t read = 0;
    uint64_t lost = 0;
  };
  std::map<std::string, KernelRecords> kernel_records;
  // How often a sender had to wait for room in a mailbox, by mailbox: "core", "writer", ...
  std::map<std::string, uint64_t> mailbox_blocked;
};

}  // namespace phantomd
