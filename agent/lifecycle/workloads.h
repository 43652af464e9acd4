// Workloads interns what owns pods: one WorkloadRef for all pods of a Deployment.
//
// Counted like StringInterner; number 0 is "no workload". References stay valid while held.
// Thread-compatible.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/base/nouns.h"

namespace phantomd {

class Workloads {
 public:
  using Id = uint32_t;

  Id Acquire(const WorkloadRef& ref);
  void Release(Id id);
  const WorkloadRef& Ref(Id id) const { return entries_[id].ref; }

 private:
  struct Entry {
    WorkloadRef ref;
    uint32_t holders = 0;
  };
  std::deque<Entry> entries_ = std::deque<Entry>(1);
  std::vector<Id> free_;
  absl::flat_hash_map<WorkloadRef, Id> ids_;
};

}  // namespace phantomd
