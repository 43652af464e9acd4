// WaitSketch: how long callers waited, in bounded memory: maximum and total exactly, quantiles
// within 1 %.
//
// Each wait goes to the bucket of its logarithm; the bucket i holds waits in (g^(i-1), g^i] ns,
// g = 1.01/0.99, so that the bucket's middle is at most 1 % away from each. One nanosecond to a day
// are 1,600 buckets, of which only those that occur are kept.
// Example: 900 waits of 1 s and 100 of 10 s: Quantile(0.5) lies in [0.99 s, 1.01 s].
//
// Sketches add up. Plain value.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "agent/base/boot_time.h"

namespace phantomd {

class WaitSketch {
 public:
  using Buckets = std::map<int, uint64_t>;

  WaitSketch() = default;
  // One that was taken apart by buckets(), max() and total().
  WaitSketch(Buckets buckets, Nanos max, Nanos total)
      : buckets_(std::move(buckets)), max_(max), total_(total) {
    for (const auto& [bucket, count] : buckets_) count_ += count;
  }

  void Add(Nanos wait);
  void Add(const WaitSketch& other);

  const Buckets& buckets() const { return buckets_; }
  uint64_t count() const { return count_; }
  Nanos max() const { return max_; }
  Nanos total() const { return total_; }
  // The wait that a share q of all did not exceed, 0 < q <= 1. 0: there were none.
  Nanos Quantile(double q) const;

  friend bool operator==(const WaitSketch&, const WaitSketch&) = default;

 private:
  Buckets buckets_;
  uint64_t count_ = 0;
  Nanos max_{0};
  Nanos total_{0};
};

}  // namespace phantomd
