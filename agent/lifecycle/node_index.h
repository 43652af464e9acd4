// NodeIndex remembers which addresses Nodes have, and when a Node was lost; it tells PodRanges
// their podCIDRs.
//
// When a Node turns not ready or vanishes, its pods may have died any time since its Lease was last
// renewed. Example, clock_error 0.5 s: lease renewed at 100 (wall = boot), NotReady told at 141 s,
// Ready again at 200 s: lost in [99.5 s, 200 s). A phase or deletion told in between was written
// for a kubelet that did not answer, and bounds nothing.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/feed_log.h"
#include "agent/lifecycle/pod_facts.h"
#include "agent/lifecycle/pod_ranges.h"
#include "agent/lifecycle/time_rules.h"

namespace phantomd {

class NodeIndex {
 public:
  explicit NodeIndex(PodRanges& ranges) : ranges_(ranges) {}

  struct Touched {
    bool health = false;            // its pods may have died, or may not have
    std::vector<IpAddr> addresses;  // that it gained or gave up
  };
  Touched Apply(const NodeChange& change, BootTime observed, const FeedLog& feed,
                const TimeRules& rules);
  void Compact(BootTime horizon);

  // What the node's state allows to believe of one of its pods.
  NodeDoubt DoubtOf(std::string_view node, const PodFacts& facts) const;
  bool LostAt(std::string_view node, BootTime t) const;

  // An address of a Node at t.
  bool IsNodeAddress(const IpAddr& ip, BootTime t) const;

  // The states that each Node was told in, oldest first: for the export.
  struct Told {
    BootTime observed;
    NodeChange change;
  };
  const absl::flat_hash_map<std::string, std::vector<Told>>& history() const { return history_; }

 private:
  struct Loss {
    BootTime from;
    BootTime mended = BootTime::Max();
  };
  struct Held {
    std::string node;
    BootTime from;
    BootTime to = BootTime::Max();
  };
  void TakeAddresses(const NodeChange* before, const NodeChange& now, BootTime observed,
                     Touched* touched);
  void TakeRanges(const NodeChange* before, const NodeChange& now, BootTime observed);

  PodRanges& ranges_;
  absl::flat_hash_map<std::string, std::vector<Told>> history_;
  absl::flat_hash_map<std::string, std::vector<Loss>> losses_;
  absl::flat_hash_map<IpAddr, std::vector<Held>> addresses_;
};

}  // namespace phantomd
