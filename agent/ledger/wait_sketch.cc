#include "agent/ledger/wait_sketch.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace phantomd {
namespace {

constexpr double kError = 0.01;
constexpr double kGrowth = (1 + kError) / (1 - kError);
constexpr int kNoWait = std::numeric_limits<int>::min();  // the bucket of 0

}  // namespace

void WaitSketch::Add(Nanos wait) {
  wait = std::max(wait, Nanos(0));
  const int bucket = wait.count() == 0
                         ? kNoWait
                         : static_cast<int>(std::ceil(std::log(static_cast<double>(wait.count())) /
                                                      std::log(kGrowth)));
  ++buckets_[bucket];
  ++count_;
  max_ = std::max(max_, wait);
  total_ += wait;
}

void WaitSketch::Add(const WaitSketch& other) {
  for (const auto& [bucket, count] : other.buckets_) buckets_[bucket] += count;
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  total_ += other.total_;
}

Nanos WaitSketch::Quantile(double q) const {
  if (count_ == 0) return Nanos(0);
  const auto rank =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(q * static_cast<double>(count_))));
  uint64_t seen = 0;
  for (const auto& [bucket, count] : buckets_) {
    seen += count;
    if (seen < rank) continue;
    if (bucket == kNoWait) return Nanos(0);
    const double middle = 2 * std::pow(kGrowth, bucket) / (kGrowth + 1);
    return std::min(Nanos(std::llround(middle)), max_);
  }
  return max_;
}

}  // namespace phantomd
