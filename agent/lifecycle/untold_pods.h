// UntoldPods remembers the pods that are bound to a Node but whose address nobody has told: any
// address without a sure holder may have been theirs.
//
// A pod may come and go without ever showing an address. Example: P created at 10 s, deleted at
// 12 s, never with an address: at 11 s an address of its Node's podCIDR may have been P's; at 13 s
// not. Where no Node's podCIDRs hold the address, any Node's pod may have had it.
//
// Thread-compatible.
#pragma once

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "agent/base/boot_time.h"
#include "agent/lifecycle/pod_index.h"

namespace phantomd {

class UntoldPods {
 public:
  void Add(uint32_t pod) { waiting_.insert(pod); }
  // Its address has been told after all.
  void Told(uint32_t pod);
  // It is gone, told at `observed`; not earlier than the previous call's.
  void Gone(uint32_t pod, BootTime observed);
  void Compact(BootTime horizon);

  // `node`: whose podCIDRs hold the address; null: no Node tells.
  bool AnyAt(BootTime t, const std::string* node, const PodIndex& pods,
             const TimeRules& rules) const;

 private:
  struct Ended {
    BootTime told;
    uint32_t pod;
  };
  absl::flat_hash_set<uint32_t> waiting_;
  std::vector<Ended> ended_;  // by the receipt of their end
};

}  // namespace phantomd
