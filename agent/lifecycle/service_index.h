// ServiceIndex remembers which Services listed a pod's address, when it was ready in them, and what
// each slice says now.
//
// One Listing per tenancy and Service; it is in service while any slice of that Service has it
// ready, from span to span. Unready is believed at once; an endpoint that left one slice and is
// ready in another of the same Service within kSliceMove was never out. Example, feed_delay 2 s:
// ready in slice s1 at 10 s; s1 drops it at 50 s: out in [48 s, 50 s]. Slice s2 has it ready
// at 50.4 s: it was never out. s2 says terminating at 80 s: out in [78 s, 80 s]; ready again at 95
// s: in again in [93 s, 95 s].
//
// A listing that was not ready in the very first list may have been in service before.
// Thread-compatible. Never reads a clock.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/feed_log.h"
#include "agent/lifecycle/slot_pool.h"

namespace phantomd {

// An earlier time in service of a listing.
struct ServiceSpan {
  BootTime in_told;
  BootTime out_told;
  uint32_t older = 0;
  bool by_removal = false;
  bool by_terminating = false;
};

struct Listing {
  uint32_t tenancy = 0;  // slot; 0: a free record
  uint32_t service = 0;
  uint32_t next = 0;          // the same tenancy in another Service
  uint32_t older = 0;         // the span before this one
  BootTime in_told;           // of the newest span; never ready: when it was first listed
  BootTime out_told;          // unset: still in service
  uint16_t slices = 0;        // that list it now
  uint16_t ready_slices = 0;  // that have it ready now
  // Not ready in the very first list, or the first after a gap: it may have been in service unseen.
  bool unseen_start = false;
  bool ever_ready = false;
  bool by_removal = false;      // how the newest span ended: no slice lists it any more
  bool by_terminating = false;  // ... because its pod's deletion was requested

  bool in_service() const { return ever_ready && !out_told.is_set(); }
};

class ServiceIndex {
 public:
  explicit ServiceIndex(const FeedLog& feed) : feed_(feed) {}

  // The tenancy of a pod and an address, made if there is none; and its chain of listings.
  struct Tenancies {
    absl::FunctionRef<uint32_t(const PodUid&, const IpAddr&, std::string_view ns)> intern;
    absl::FunctionRef<uint32_t&(uint32_t tenancy)> listings;
    // A Service listed it for the first time.
    absl::FunctionRef<void(uint32_t tenancy, uint32_t service)> listed;
  };
  // Calls `touched` with every tenancy whose listing changed, and `manual` with every address whose
  // listing without a pod did.
  void Apply(const SliceChange& change, BootTime observed, Tenancies tenancies,
             absl::FunctionRef<void(uint32_t tenancy)> touched,
             absl::FunctionRef<void(const IpAddr&)> manual);

  uint32_t FindService(std::string_view name) const;  // 0: no slice of it was ever listed
  bool HasSlices(uint32_t service) const { return services_[service].slices > 0; }
  // Whether a slice of the Service ever listed this chain of listings.
  bool Lists(uint32_t service, uint32_t listings) const;

  const Listing& operator[](uint32_t listing) const { return listings_[listing]; }
  const ServiceSpan& span(uint32_t span) const { return spans_[span]; }
  const std::string& ServiceName(uint32_t service) const { return services_[service].name; }
  // Frees the listings of a tenancy that is forgotten; no slice lists them any more.
  void Forget(uint32_t listings);
  // Whether some slice lists one of them now.
  bool ListedNow(uint32_t listings) const;

  BootTime FirstListed(uint32_t listing) const {
    const auto it = unseen_starts_.find(listing);
    return it == unseen_starts_.end() ? OldestIn(listing) : it->second;
  }
  // The last time that its state in a Service changed.
  BootTime LastToldOf(uint32_t listings) const;
  // When the last Service that had it ready stopped; unset: it is in service, or never was.
  BootTime OutOfServiceSince(uint32_t listings) const;

  // A slice without a pod target listed the address around t.
  bool ListedManually(const IpAddr& ip, BootTime t) const;
  void Compact(BootTime horizon);

  // What each slice says now, and the manual listings: for the export.
  struct Entry {
    uint32_t listing = 0;  // or the number of an address without a pod target, if `manual`
    bool ready = false;
    bool terminating = false;
    bool manual = false;
    friend auto operator<=>(const Entry&, const Entry&) = default;
  };
  struct Slice {
    std::string ns;
    std::string name;
    uint32_t service = 0;
    BootTime told;
    std::vector<Entry> entries;
  };
  struct ManualSpan {
    BootTime from;  // receipts
    BootTime to = BootTime::Max();
    uint32_t service = 0;
  };
  const IpAddr& ManualAddress(const Entry& entry) const { return manual_ips_[entry.listing]; }
  const absl::flat_hash_map<std::string, Slice>& slices() const { return slices_; }
  const absl::flat_hash_map<IpAddr, std::vector<ManualSpan>>& manual() const { return manual_; }

 private:
  struct Service {
    std::string name;  // "namespace/name"; empty: a free record
    uint32_t slices = 0;
  };

  uint32_t InternService(std::string_view ns, std::string_view service);
  uint32_t InternListing(uint32_t service, uint32_t tenancy, bool ready, const Tenancies& tenancies,
                         BootTime observed);
  void Settle(Listing& listing, bool terminating, BootTime observed);
  BootTime OldestIn(uint32_t listing) const;
  uint32_t InternManual(const IpAddr& ip);
  void SetManual(const IpAddr& ip, uint32_t service, bool listed, BootTime observed);

  const FeedLog& feed_;
  SlotPool<Listing> listings_;
  SlotPool<ServiceSpan> spans_;
  // When listings with an unseen start were first listed: few, beside the others.
  absl::flat_hash_map<uint32_t, BootTime> unseen_starts_;
  // Addresses that slices list without a pod: few, and numbered to keep Entry small.
  std::vector<IpAddr> manual_ips_;
  absl::flat_hash_map<IpAddr, uint32_t> manual_ids_;
  std::vector<Service> services_ = std::vector<Service>(1);
  absl::flat_hash_map<std::string, uint32_t> by_name_;
  absl::flat_hash_map<std::string, Slice> slices_;  // by "namespace/name"
  absl::flat_hash_map<IpAddr, std::vector<ManualSpan>> manual_;
};

}  // namespace phantomd
