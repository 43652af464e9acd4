// AdminPollStats: how the polls went, for metrics and status. Counts are since the start.
//
// Plain value; EnvoyEdge publishes a new one after polls ended.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"

namespace phantomd {

struct AdminPollStats {
  // Upper bounds, in seconds, of all buckets but the last, which has none.
  static constexpr std::array<double, 12> kBounds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                                     0.05,   0.1,   0.25,   0.5,   1,    2.5};

  uint64_t polls = 0;                                  // ended, in success or failure
  std::array<uint64_t, kBounds.size() + 1> buckets{};  // by admin time; not cumulative
  double seconds = 0;                                  // admin time of all of them
  std::map<std::string, uint64_t> errors;              // by kind, see AdminErrorKind()
  std::map<ProxyId, std::string> limitations;          // what a proxy cannot tell, one sentence

  void Observe(Nanos served) {
    const double time = std::chrono::duration<double>(served).count();
    size_t bucket = 0;
    while (bucket < kBounds.size() && time > kBounds[bucket]) ++bucket;
    ++polls;
    ++buckets[bucket];
    seconds += time;
  }
};

}  // namespace phantomd
