// LateNews counts, by kind of input, what came behind the watermark: it would have mattered to
// verdicts that had fallen by then. They stay as they are; the count says how far to trust them.
//
// What is late: the record of an attempt or of a connection's end that comes later than
// judgement_delay after that; news of a pod, a slice or a node that dates a change before the
// watermark; a feed of which it is learned that it had broken before it; a pod's end seen by the
// kernel, or a poll answered, before it. A pod's update repeats old dates: only a withdrawal or an
// end that was not known before counts. Thread-compatible.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "agent/base/boot_time.h"
#include "agent/engine/input.h"
#include "agent/lifecycle/lifecycle.h"

namespace phantomd {

class LateNews {
 public:
  // What the lifecycle knew of a pod before a change of it.
  struct PodBefore {
    TimeBounds withdrawn;
    TimeBounds released;
    bool feed_synced = false;
  };
  static PodBefore Before(const PodChange& change, const Lifecycle& lifecycle);
  void PodApplied(const PodChange& change, const PodBefore& before, const Lifecycle& lifecycle,
                  BootTime watermark);
  // For every other kind: late if it happened, at the earliest, before the watermark.
  void Happened(std::string_view kind, BootTime when, BootTime watermark);
  void Count(std::string_view kind) { ++counts_[std::string(kind)]; }

  const std::map<std::string, uint64_t>& counts() const { return counts_; }
  void Restore(const std::map<std::string, uint64_t>& counts) { counts_ = counts; }

 private:
  std::map<std::string, uint64_t> counts_;
};

}  // namespace phantomd
