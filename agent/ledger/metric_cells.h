// MetricCells: the counters behind the phantom_* Prometheus metrics, by label values. No label
// holds an address.
//
// Counters only grow; a cell disappears when its proxy is gone or its rollout is old (the ledger
// forgets on schedule). Bucket counts are not cumulative.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/belief/snapshot.h"
#include "agent/verdict/attempt.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

// Upper bounds in seconds of phantom_connect_wait_seconds and phantom_window_seconds; one more
// bucket holds the rest.
inline constexpr std::array<double, 14> kWaitBuckets = {0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5,
                                                        1,     2,     3,    5,    10,  30,   130};
inline constexpr std::array<double, 14> kWindowBuckets = {0.05, 0.1, 0.25, 0.5, 1,   2,   5,
                                                          10,   30,  60,   120, 300, 900, 3600};

struct Histogram {
  std::array<uint64_t, 15> buckets{};
  double sum_seconds = 0;
  uint64_t count = 0;

  friend bool operator==(const Histogram&, const Histogram&) = default;
};

struct SourceLabels {
  std::string ns;
  std::string workload;
  std::string pod;

  friend auto operator<=>(const SourceLabels&, const SourceLabels&) = default;
};

struct DestinationLabels {
  std::string ns;
  std::string workload;
  std::string revision;

  friend auto operator<=>(const DestinationLabels&, const DestinationLabels&) = default;
};

struct MetricCells {
  struct Attempts {  // phantom_attempts_total
    SourceLabels source;
    Initiator initiator;
    DestinationClass destination_class;
    Outcome outcome;
    uint64_t count;
  };
  struct Connections {  // phantom_connections_total
    SourceLabels source;
    DestinationLabels destination;
    DestinationClass destination_class;
    Certainty certainty;
    Cause cause;
    Outcome outcome;
    Layer layer;
    uint64_t count;

    friend bool operator==(const Connections&, const Connections&) = default;
  };
  struct Wait {  // phantom_connect_wait_seconds: SYN to outcome
    std::string source_ns, source_workload, destination_ns, destination_workload;
    DestinationClass destination_class;
    Outcome outcome;
    Histogram histogram;

    friend bool operator==(const Wait&, const Wait&) = default;
  };
  struct Window {  // phantom_window_seconds: one observation per proxy and rollout, when the window
                   // closes
    std::string destination_ns, destination_workload;
    Histogram histogram;

    friend bool operator==(const Window&, const Window&) = default;
  };
  struct Stale {  // phantom_stale_endpoints
    SourceLabels source;
    DestinationClass destination_class;
    uint64_t count;
  };
  std::vector<Attempts> attempts;
  std::vector<Connections> connections;
  std::vector<Wait> waits;
  std::vector<Window> windows;
  std::vector<Stale> stale;
};

}  // namespace phantomd
