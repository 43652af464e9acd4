// PodRanges knows where pods have their addresses: the ranges that Nodes and the operator tell
// (podCIDRs, --pod_cidrs), and around them the blocks in which ranges may lie that nobody tells.
//
// The range of a Node that is gone stays one of pods: a proxy may believe in them for long. That of
// a Node which was gone before the agent began was never told. But the controller cuts all podCIDRs
// of a family from one cluster CIDR, and that lies within one block of private addresses (RFC 1918,
// 6598, 4193) or of public ones: so a block is left alone only if no told range and no address of a
// pod is in it. Where the operator tells the cluster CIDR itself, it stands for the whole block.
// Example: Node n1 tells 10.0.1.0/24. 10.0.1.7 is in a range; 10.0.9.7 is beside one; 192.0.2.1 is
// neither. With --pod_cidrs=10.0.0.0/21, which holds n1's, 10.0.9.7 is neither as well.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/lifecycle/prefix_map.h"

namespace phantomd {

class PodRanges {
 public:
  explicit PodRanges(std::vector<IpPrefix> given);

  void Take(const IpPrefix& range, std::string_view node);
  void GiveUp(const IpPrefix& range, std::string_view node, BootTime when);
  // Some pod was told with this address.
  void Saw(const IpAddr& ip);

  bool known() const { return !given_.empty() || !of_nodes_.empty(); }
  bool Contains(const IpAddr& ip) const { return Given(ip) || of_nodes_.Find(ip) != nullptr; }
  // In a range, or in a block where a range may lie that nobody tells.
  bool MayContain(const IpAddr& ip) const;
  // The Node that has the range which holds the address; null: no Node tells.
  const std::string* NodeOf(const IpAddr& ip) const;

  // Forgets ranges given up before `horizon`, and blocks that nothing tells of any more;
  // `each_address` visits the addresses of pods that are still known.
  void Compact(BootTime horizon,
               absl::FunctionRef<void(absl::FunctionRef<void(const IpAddr&)>)> each_address);

 private:
  bool Given(const IpAddr& ip) const;

  const std::vector<IpPrefix> given_;
  PrefixMap of_nodes_;                     // to the Node's name; "": given up
  std::map<IpPrefix, BootTime> given_up_;  // when
  uint32_t blocks_ = 0;                    // in which there are ranges or pods; a bit each
};

}  // namespace phantomd
