#include "agent/lifecycle/workloads.h"

#include "agent/base/check.h"

namespace phantomd {

Workloads::Id Workloads::Acquire(const WorkloadRef& ref) {
  if (ref == WorkloadRef()) return 0;
  if (const auto it = ids_.find(ref); it != ids_.end()) {
    ++entries_[it->second].holders;
    return it->second;
  }
  Id id = 0;
  if (free_.empty()) {
    id = static_cast<Id>(entries_.size());
    entries_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  entries_[id] = Entry{ref, 1};
  ids_.emplace(ref, id);
  return id;
}

void Workloads::Release(Id id) {
  if (id == 0) return;
  Entry& entry = entries_[id];
  PHANTOMD_CHECK(entry.holders > 0);
  if (--entry.holders > 0) return;
  ids_.erase(entry.ref);
  entry.ref = WorkloadRef();
  free_.push_back(id);
}

}  // namespace phantomd
