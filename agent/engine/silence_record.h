// SilenceRecord remembers which pods of a node fell silent and which answered, and when nodes
// turned not ready: a node that dies takes its pods with it, long before the API says so.
//
// A node fell silent around t when at least two of its pods have left a SYN unanswered since their
// last answer, none of its pods has answered anything at or after t, and the Node turned not ready
// after t. Both t and these silences lie within kNotice of that: a pod that was silent an hour ago
// and never asked again tells nothing of its node. Example: pods A and B on n1, A silent to SYNs at
// 10 and 12 s, B at 11 s, n1 not ready at 50 s: fell silent around 10 s. Had C on n1 answered at
// 20 s, it had not: only A and B died.
//
// Thread-compatible.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/engine/restored.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/lifecycle.h"

namespace phantomd {

class SilenceRecord {
 public:
  // How long a dead node may be called ready: it renews its Lease every 10 s, and is declared lost
  // when 40 s (50 s since Kubernetes 1.32) have passed without; the check runs every 5 s.
  static constexpr Nanos kNotice = std::chrono::seconds(90);

  // What one SYN to a pod met. Silence counts only while nothing newer was answered.
  void Answered(PodHandle pod, std::string_view node, BootTime answer);
  void Unanswered(PodHandle pod, std::string_view node, BootTime syn);
  void Apply(const NodeChange& change, BootTime observed);
  bool FellSilent(std::string_view node, BootTime t) const;
  // Forgets pods that were last heard of, or last silent, before `horizon`.
  void Compact(BootTime horizon);

  void Export(const Lifecycle& lifecycle, const std::function<void(NodeSilence)>& sink) const;
  void Restore(const NodeSilence& silence, const Lifecycle& lifecycle);
  void Clear() { nodes_.clear(); }

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
