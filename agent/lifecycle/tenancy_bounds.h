// TenancyBounds turns what was told of one address into bounds: when each of its tenancies began
// and ended, and what says so.
//
// Own facts come first (PodFacts, the loss of the address, the Node's health), then the neighbours:
// a running pod that shows the address ends every older tenancy, and nobody acquires it before the
// previous holder's earliest end. Nothing is stored: bounds follow from what is known now.
// Example: see IpTimeline.
//
// Pure; borrows what it reads. Thread-compatible: for the thread that owns those.
#pragma once

#include <string_view>

#include "agent/lifecycle/feed_log.h"
#include "agent/lifecycle/ip_timeline.h"
#include "agent/lifecycle/node_index.h"
#include "agent/lifecycle/pod_index.h"
#include "agent/lifecycle/service_index.h"
#include "agent/lifecycle/time_rules.h"

namespace phantomd {

struct ResolvedTenancy {
  uint32_t tenancy = 0;
  TimeBounds acquired;
  TimeBounds released = {BootTime::Max(), BootTime::Max()};
  BootTime likely_acquired;
  BootTime likely_released = BootTime::Max();
  std::string_view evidence;

  bool MayHoldAt(BootTime t) const { return t >= acquired.not_before && t < released.not_after; }
  bool SurelyHoldsAt(BootTime t) const {
    return t >= acquired.not_after && t < released.not_before;
  }
  bool MayHaveEndedBy(BootTime t) const { return t >= released.not_before; }
};

class TenancyBounds {
 public:
  TenancyBounds(const PodIndex& pods, const IpTimeline& ips, const ServiceIndex& services,
                const NodeIndex& nodes, const FeedLog& pod_feed, const TimeRules& rules)
      : pods_(pods),
        ips_(ips),
        services_(services),
        nodes_(nodes),
        pod_feed_(pod_feed),
        rules_(rules) {}

  // Visits the tenancies of one address, newest first, until `visit` returns false.
  template <typename Visit>
  void Walk(uint32_t newest, const Visit& visit) const {
    BootTime taken_over = BootTime::Max();
    for (uint32_t at = newest; at != 0; at = ips_[at].older) {
      const ResolvedTenancy resolved = Resolve(at, taken_over);
      if (!visit(resolved)) return;
      if (ips_[at].strong) taken_over = std::min(taken_over, ips_[at].told);
    }
  }

  // By the pod's own facts alone, without the neighbours.
  PodEnding EndingOf(uint32_t tenancy) const;
  // When the pod's deletion was requested.
  TimeBounds DeletionOf(const PodRecord& pod) const;

 private:
  // `taken_over`: when a newer running pod was first shown with the address.
  ResolvedTenancy Resolve(uint32_t tenancy, BootTime taken_over) const;
  BootTime EarliestEnd(uint32_t tenancy) const;
  TimeBounds EndByKernel(const AddressLoss& loss, const PodFacts& facts) const;
  NodeDoubt DoubtOf(const PodRecord& pod) const {
    return nodes_.DoubtOf(pods_.Text(pod.node), pod.facts);
  }

  const PodIndex& pods_;
  const IpTimeline& ips_;
  const ServiceIndex& services_;
  const NodeIndex& nodes_;
  const FeedLog& pod_feed_;
  const TimeRules& rules_;
};

}  // namespace phantomd
