// Random: the only source of chance in the simulated world. One seed, one world.
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "agent/base/boot_time.h"

namespace phantomd::world {

inline Nanos Span(double seconds) { return Nanos(static_cast<int64_t>(seconds * 1e9)); }
inline double SecondsOf(Nanos span) { return static_cast<double>(span.count()) / 1e9; }

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}

  double Uniform(double from = 0, double to = 1) {
    return std::uniform_real_distribution<>(from, to)(engine_);
  }
  bool Chance(double p) { return Uniform() < p; }
  size_t Index(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(engine_); }
  template <typename C>
  auto& Any(C& c) {
    return c[Index(c.size())];
  }
  template <typename C>
  void Shuffle(C& c) {
    std::shuffle(c.begin(), c.end(), engine_);
  }
  double Exponential(double mean) { return std::exponential_distribution<>(1 / mean)(engine_); }
  // Log-normal: half of all delays are below `median`, few reach `most`, none goes beyond.
  Nanos Delay(double median, double sigma, double most) {
    return Span(std::min(most, median * std::exp(std::normal_distribution<>(0, sigma)(engine_))));
  }
  // An independent stream, so that one part of the world does not change another's chances.
  Random Fork() { return Random(engine_()); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace phantomd::world
