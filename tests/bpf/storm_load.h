// A storm of connects with mixed outcomes, and what its own sockets saw of them: the truth that
// the kernel's records are held against.
//
// Each worker thread serves its share of a StormNet's clients in turn, at a steady pace. Pace is
// what it aims at, never what a test asserts: the number of connects is fixed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "agent/verdict/attempt.h"
#include "tests/bpf/storm_net.h"

namespace phantomd {

inline constexpr int kOutcomes = 9;  // enumerators of Outcome

// By client and outcome.
class StormCounts {
 public:
  explicit StormCounts(size_t clients) : counts_(clients) {}

  void Add(size_t client, Outcome outcome) { ++counts_.at(client).at(static_cast<int>(outcome)); }
  void Add(const StormCounts& other);
  // The counts of one outcome as `other` has them.
  void Take(const StormCounts& other, Outcome outcome);
  uint64_t Of(Outcome outcome) const;
  uint64_t Total() const;
  // Which counts differ, a line each, the first few; empty: none.
  std::string DifferencesFrom(const StormCounts& truth) const;

  friend bool operator==(const StormCounts&, const StormCounts&) = default;

 private:
  std::vector<std::array<uint64_t, kOutcomes>> counts_;
};

struct StormPace {
  uint64_t connects = 0;    // in all
  uint64_t per_second = 0;  // in all; as fast as it goes where the machine is slower
};

struct Storm {
  StormCounts done;    // how each connect ended
  double seconds = 0;  // until the last was begun
};

// Blocks until the last connect has ended.
Storm RunStorm(const StormNet& net, const StormPace& pace);

const char* OutcomeName(Outcome outcome);

}  // namespace phantomd
