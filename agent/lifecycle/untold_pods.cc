#include "agent/lifecycle/untold_pods.h"

#include <algorithm>

namespace phantomd {

void UntoldPods::Told(uint32_t pod) {
  waiting_.erase(pod);
  std::erase_if(ended_, [&](const Ended& ended) { return ended.pod == pod; });
}

void UntoldPods::Gone(uint32_t pod, BootTime observed) {
  if (waiting_.erase(pod) > 0) ended_.push_back({observed, pod});
}

void UntoldPods::Compact(BootTime horizon) {
  std::erase_if(ended_, [&](const Ended& ended) { return ended.told < horizon; });
}

bool UntoldPods::AnyAt(BootTime t, const std::string* node, const PodIndex& pods,
                       const TimeRules& rules) const {
  const auto may_have_lived = [&](uint32_t slot) {
    const PodRecord& pod = pods[slot];
    if (pod.node == 0) return false;  // not bound to a Node: no sandbox, no address
    if (node != nullptr && pods.Text(pod.node) != *node) return false;
    return t >= EarliestLife(pod.facts, rules);
  };
  for (auto it = ended_.rbegin(); it != ended_.rend() && it->told > t; ++it) {
    if (may_have_lived(it->pod)) return true;
  }
  return std::any_of(waiting_.begin(), waiting_.end(), may_have_lived);
}

}  // namespace phantomd
