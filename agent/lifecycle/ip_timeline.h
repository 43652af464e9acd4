// IpTimeline remembers, for every address, which pods held it, newest first.
//
// A tenancy says that one pod was shown with one address; when it began and ended are bounds, and a
// tenancy's bounds depend on its neighbours: a running pod that shows the address ends all older
// tenancies, and nobody acquires it before the previous holder's earliest end.
// Example, feed_delay 2 s: A is told with X at 10 s, last told alive at 50 s. B, created at 55 s,
// is told with X at 60 s, A never spoke of an end: A is released in [48 s, 60 s], B acquired in [55
// s - clock_error, 60 s]. At 52 s A or nobody holds X, at 57 s A, B or nobody, at 61 s B surely.
// After A is forgotten B's answers at instants since then are the same.
//
// Order: newest on top, except that a pod first shown on its way out (deletion requested,
// completed, failed) goes below a running one: Kubernetes goes on listing an address for pods that
// lost it. Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/lifecycle/slot_pool.h"

namespace phantomd {

struct Tenancy {
  IpAddr ip;
  uint32_t pod = 0;          // slot; 0: a free record
  uint32_t older = 0;        // the next older tenancy of this address
  uint32_t next_of_pod = 0;  // another address of this pod
  uint32_t listings = 0;     // of ServiceIndex: the Services that list it
  BootTime told;             // receipt of the first word of it; unset: a slice alone has named it
  bool strong = false;       // first shown by a pod that was not leaving
  bool linked = false;       // part of its address's timeline
  bool has_loss = false;     // see IpTimeline::Loss
};

// The pod lost the address while it may have lived on, or the kernel saw it end.
struct AddressLoss {
  TimeBounds bounds;      // not_after Max: gone from the status, which also happens for a moment
  uint32_t evidence = 0;  // interned, and never released: there are few such texts
  bool exact = false;     // from the own node's kernel
  BootTime told;
};

struct IpRecord {
  uint32_t newest = 0;
  bool several_pods = false;     // more than one pod is known to have held it
  bool history_complete = true;  // nothing before its oldest tenancy can have been missed
  bool listed_with_pod = false;  // by a slice with a pod target, at any time
};

class IpTimeline {
 public:
  static constexpr size_t kListedOnly = 16'384;
  // null: nothing was ever told of it.
  const IpRecord* Find(const IpAddr& ip) const {
    const auto it = ips_.find(ip);
    return it == ips_.end() ? nullptr : &it->second;
  }
  // Made if there is none. `complete`: this is the first word ever, news of earlier holders
  // would have been heard.
  IpRecord& Intern(const IpAddr& ip, bool complete);

  // A tenancy outside of the timeline: a slice may name an address before the pod's status does.
  uint32_t Add(const IpAddr& ip, uint32_t pod);
  // Puts it into its address's timeline, under every tenancy from the newest on that
  // `belongs_below` says it belongs under. The record of the address must exist.
  void Link(uint32_t tenancy, absl::FunctionRef<bool(const Tenancy& newer)> belongs_below);
  // Takes it out, if it is in, and frees the record.
  void Remove(uint32_t tenancy);
  // Forgets the addresses of which nothing is left. That a slice once listed one for a pod is still
  // known of up to kListedOnly addresses: enough for the pools of IPv4, and bounded.
  void DropEmpty();

  void SetLoss(uint32_t tenancy, const AddressLoss& loss);
  void ClearLoss(uint32_t tenancy);
  const AddressLoss& Loss(uint32_t tenancy) const { return losses_.at(tenancy); }

  Tenancy& operator[](uint32_t slot) { return tenancies_[slot]; }
  const Tenancy& operator[](uint32_t slot) const { return tenancies_[slot]; }
  const absl::flat_hash_map<IpAddr, IpRecord>& ips() const { return ips_; }
  // What some address did is forgotten: a new record cannot be complete.
  bool forgot_addresses() const { return forgot_addresses_; }
  void NoteForgotten() { forgot_addresses_ = true; }

 private:
  SlotPool<Tenancy> tenancies_;
  absl::flat_hash_map<IpAddr, IpRecord> ips_;
  absl::flat_hash_map<uint32_t, AddressLoss> losses_;  // few: beside, to keep Tenancy small
  bool forgot_addresses_ = false;
};

}  // namespace phantomd
