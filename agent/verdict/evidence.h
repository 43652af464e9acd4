// Evidence: all that one verdict rests on, as values. Gather reads it from the lifecycle and the
// belief; everything after that is elimination over these values alone.
//
// Example: the belief of the proxy lists 10.0.0.7:8080 in one cluster of the Service shop/catalog,
// and pod A may hold 10.0.0.7: one listing, whose meanings[0] says whether shop/catalog means A.
//
// Plain values; pointers and views are valid until the next Apply or Compact of the Lifecycle and
// the Belief they came from. Thread-compatible: made and read by the thread that owns those two.
#pragma once

#include <vector>

#include "absl/container/inlined_vector.h"
#include "agent/belief/belief.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/attempt.h"

namespace phantomd {

// How long a client or a proxy goes on using an address after its pod is gone, if all is well: the
// TTL of a Service's DNS records as kubeadm sets it up (CoreDNS, `ttl 30`); pushes take less.
inline constexpr Nanos kAddressMemory = std::chrono::seconds(30);

// One cluster of the proxy that lists, or listed, the destination around the SYN.
struct ClusterEvidence {
  ClusterBelief belief;
  bool service_known = false;  // a slice of its Service was ever listed here; not told of an
                               // address that some pod has held
  absl::InlinedVector<Meaning, 2> meanings;  // of each of AddressFacts.holders, in that order
  bool held() const { return belief.hold != Hold::kDropped; }
};

// One tenancy of the address that may lie behind the SYN, for naming whose departure made it stale.
struct EarlierTenancy {
  TenancyFacts tenancy;
  TimeBounds withdrawn;
  absl::InlinedVector<bool, 2> meant;  // by the Service of each of Evidence.listings
};

struct Evidence {
  AddressFacts address;     // at the SYN
  bool pods_told = true;    // the first list of pods is complete: before that nothing is known
  bool slices_told = true;  // the same of slices: which Services there are
  bool proxy_known = false;
  bool belief_usable = false;   // a snapshot is close enough to the SYN to speak of it
  bool answered_after = false;  // a poll requested at or after the SYN was answered, or failed
  absl::InlinedVector<ClusterEvidence, 2> listings;
  bool has_original_dst = false;  // told where a client may have meant another by it, or where no
                                  // cluster holds the address
  bool original_dst_unused = false;  // no other than those among `listings`: a poll told so soon
                                     // after the SYN
  Layer original_dst_layer = Layer::kUnspecified;
  bool syn_before_horizon = false;      // an adopted SYN may be older than the index
  bool soon_after_horizon = false;      // who may be meant may be older than the index
  std::vector<EarlierTenancy> earlier;  // newest first; left empty where nothing can be stale
};

// Another pod held the address until so shortly before the SYN that it may still be meant.
bool LatelyHeldByAnother(const Attempt& attempt, const AddressFacts& address, PodHandle holder);

Evidence Gather(const Attempt& attempt, const ProxyId& proxy, const Lifecycle& lifecycle,
                const Belief& belief);

}  // namespace phantomd
