// SilenceRecord remembers which pods of a node fell silent and which answered, and when nodes
// turned not ready: a node that dies takes its pods with it, long before the API says so.
//
// A node fell silent around t when at least two of its pods have left a SYN unanswered since their
// last answer, none of its pods has answered a SYN sent at or after t, and the Node turned not
// ready after t. Example: pods A and B on n1, A silent to SYNs at 10 and 12 s, B at 11 s, n1 not
// ready at 50 s: fell silent around 10 s. Had C on n1 answered a SYN of 20 s, it had not: only A
// and B died.
//
// Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/departure.h"

namespace phantomd {

class SilenceRecord {
 public:
  // What one SYN to a pod met. Silence counts only while nothing newer was answered.
  void Answered(PodHandle pod, std::string_view node, BootTime syn);
  void Unanswered(PodHandle pod, std::string_view node, BootTime syn);
  void Apply(const NodeChange& change, BootTime observed);
  bool FellSilent(std::string_view node, BootTime t) const;
  // Forgets pods that were last heard of, or last silent, before `horizon`.
  void Compact(BootTime horizon);

 private:
  struct OfPod {
    BootTime last_answer;
    BootTime last_silence;
    bool silent() const { return last_silence > last_answer; }
  };
  struct OfNode {
    absl::flat_hash_map<PodHandle, OfPod> pods;
    BootTime not_ready_since;  // unset: ready
  };
  OfNode& Node(std::string_view name);

  absl::flat_hash_map<std::string, OfNode> nodes_;
};

}  // namespace phantomd
