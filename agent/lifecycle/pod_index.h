// PodIndex holds one record per pod that is known or remembered, found by UID or by handle.
//
// Records are small, because 100,000 live pods and as many tombstones share 64 MiB: what pods have
// in common is interned, a UID is 16 bytes, a name that begins with its workload's keeps the rest
// only. A whole PodRef is put together when somebody asks for it and kept for the next time; the
// kept ones are few (kKeptRefs) and dropped by Trim.
//
// Slots are numbers of records and are used again; handles are not, for as long as the agent runs.
// Example: pod A is slot 1, handle 1; forgotten; pod B is slot 1, handle 2: Find(handle 1) = none.
//
// A record may stand for a UID that only a slice or the kernel has named so far: `told` is false.
// Thread-compatible, but const calls share the kept refs: one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "agent/base/nouns.h"
#include "agent/lifecycle/departure.h"
#include "agent/lifecycle/interner.h"
#include "agent/lifecycle/pod_facts.h"
#include "agent/lifecycle/slot_pool.h"
#include "agent/lifecycle/workloads.h"

namespace phantomd {

struct PodRecord {
  std::array<uint8_t, 16> uid{};        // packed, or the number of an interned text
  std::unique_ptr<char[]> name;         // without the workload's name in front, if `short_name`
  PodHandle handle = PodHandle::kNone;  // none: a free slot
  uint32_t ns = 0;
  uint32_t workload = 0;
  uint32_t revision = 0;
  uint32_t node = 0;
  uint32_t tenancies = 0;         // slot of its newest tenancy
  uint32_t change = 0;            // of Departures: the change that takes it, one up
  mutable uint32_t kept_ref = 0;  // position among the kept refs, one up
  PodFacts facts;
  uint8_t departure : 7 = 0;      // a Departure
  bool makes_up_for : 1 = false;  // a loss of its own revision: one pod for one
  bool uid_is_text : 1 = false;
  bool short_name : 1 = false;
  bool told : 1 = false;  // by the pod feed
  bool host_network : 1 = false;
  bool failed : 1 = false;     // terminal phase is Failed
  bool counted : 1 = false;    // Departures counts it as alive in its revision
  bool departing : 1 = false;  // Departures has seen it go
  bool reason_is_eviction : 1 = false;
};

class PodIndex {
 public:
  static constexpr size_t kKeptRefs = 4096;

  PodIndex();

  // The slot of this UID, made if there is none.
  uint32_t Intern(const PodUid& uid);
  uint32_t Find(const PodUid& uid) const;  // 0: none
  uint32_t Find(PodHandle handle) const;   // 0: none
  // Takes over names, workload, revision and node. False: nothing changed.
  bool Describe(uint32_t slot, const PodRef& ref);
  void SetNamespace(uint32_t slot, std::string_view ns);
  void Forget(uint32_t slot);

  PodRecord& operator[](uint32_t slot) { return records_[slot]; }
  const PodRecord& operator[](uint32_t slot) const { return records_[slot]; }
  uint32_t end() const { return records_.end(); }
  size_t size() const { return records_.size(); }

  // Valid until the next change of this pod, or Trim.
  const PodRef* Ref(uint32_t slot) const;
  PodUid Uid(uint32_t slot) const;
  const WorkloadRef& Workload(uint32_t slot) const {
    return workloads_.Ref(records_[slot].workload);
  }
  const std::string& Text(uint32_t id) const { return strings_.Text(id); }
  // Drops the kept refs if they have become many.
  void Trim();

  StringInterner& strings() { return strings_; }
  const StringInterner& strings() const { return strings_; }
  Workloads& workloads() { return workloads_; }

 private:
  struct PackedUid {
    std::array<uint8_t, 16> bytes{};
    bool is_text = false;
  };
  struct ByUidHash {
    using is_transparent = void;
    const PodIndex* index;
    size_t operator()(uint32_t slot) const;
    size_t operator()(const PackedUid& uid) const;
  };
  struct ByUidEqual {
    using is_transparent = void;
    const PodIndex* index;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(uint32_t a, const PackedUid& b) const;
    bool operator()(const PackedUid& a, uint32_t b) const { return (*this)(b, a); }
  };
  struct ByHandleHash {
    using is_transparent = void;
    const PodIndex* index;
    size_t operator()(uint32_t slot) const;
    size_t operator()(PodHandle handle) const;
  };
  struct ByHandleEqual {
    using is_transparent = void;
    const PodIndex* index;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(uint32_t a, PodHandle b) const;
    bool operator()(PodHandle a, uint32_t b) const { return (*this)(b, a); }
  };

  static bool Pack(const PodUid& uid, PackedUid* packed);
  std::string NameOf(const PodRecord& record) const;
  void DropRef(uint32_t slot);

  SlotPool<PodRecord> records_;
  StringInterner strings_;
  Workloads workloads_;
  // Sets of slots rather than maps: the keys are in the records already.
  absl::flat_hash_set<uint32_t, ByUidHash, ByUidEqual> by_uid_;
  absl::flat_hash_set<uint32_t, ByHandleHash, ByHandleEqual> by_handle_;
  uint32_t last_handle_ = 0;

  struct KeptRef {
    PodRef ref;
    uint32_t slot = 0;
  };
  mutable std::deque<KeptRef> kept_;  // a deque: refs never move
  mutable std::vector<uint32_t> kept_free_;
};

}  // namespace phantomd
