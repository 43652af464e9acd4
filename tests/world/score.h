// Score holds what an agent said of a simulated world against what was true of it.
//
// Wrong while CERTAIN is counted everywhere; everything else outside the spans in which the agent
// could not know (before its first lists, gaps of its watches), and of pods that it was told of:
// whose departure made an address stale that died before it began, nobody can tell it. Tallies of
// several worlds add up.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/world/simulation.h"

namespace phantomd::world {

struct Share {
  uint64_t hits = 0, of = 0;
  void Add(bool hit) {
    hits += hit;
    ++of;
  }
  void Add(const Share& other) {
    hits += other.hits;
    of += other.of;
  }
  double value() const { return of == 0 ? 1 : static_cast<double>(hits) / static_cast<double>(of); }
};

inline constexpr size_t kClasses = 7;  // of DestinationClass

struct Tally {
  uint64_t attempts = 0;
  uint64_t unjudged = 0;       // told to the agent, and without a verdict; or with more than one
  uint64_t certain_wrong = 0;  // everywhere
  uint64_t rollouts = 0;       // that a pod departed with while the agent ran
  std::array<uint64_t, kClasses> by_class{};  // true classes
  // true class, said class, CERTAIN or not; outside gaps
  std::array<std::array<std::array<uint64_t, 2>, kClasses>, kClasses> said{};
  Share recall, precision, inferred, inferred_right, unknown, causes, attribution;
  Share window_known, window_narrow, window_true;

  void Add(const Tally& other);
};

// One thing that the agent said, or failed to say.
enum class Finding {
  kCertainWrong,
  kMissed,
  kInferredWrong,
  kUnknown,
  kCause,
  kAttribution,
  kWindow
};
std::string NameOf(Finding finding);

struct Found {
  Finding finding;
  const Simulation& world;
  const TrueAttempt* truth = nullptr;  // null for windows
  const Connection* said = nullptr;
  std::string text;
};
using FindingSink = std::function<void(const Found&)>;

Tally ScoreOf(const Simulation& world, const FindingSink& sink = nullptr);

// What of the limits is missed, a line each; empty: all are reached. A share over few cases may
// miss its limit by chance: it is forgiven `deviations` standard deviations of the number of cases
// that the limit allows. One change that is told wrongly is so for all attempts that it made stale:
// they count as a bunch.
std::vector<std::string> Missed(const Tally& tally, const Limits& limits, double deviations = 0);

}  // namespace phantomd::world
