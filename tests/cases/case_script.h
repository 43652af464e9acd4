// CaseScript: a situation that people reported from production, told as one agent learns it, a line
// an event; it yields a recording's Inputs.
//
//   @10 sync                                 all three feeds have their first list
//   @12 pod a ip=10.0.0.1 wl=Deployment/catalog rev=v1 node=n1 created=11
//   @20.4 pod a del=20.1                     words that are not said stay as they were said before;
//                                            fin=, phase=, reason=, deleted; API times are cut to
//                                            whole seconds, as the API tells them
//   @12 slice s1 catalog a b:unready c:terminating 10.9.9.9     by pod or address
//   @12 node n1 ready cidr=10.0.0.0/16 addr=192.168.0.1
//   @20 end a at=19.9                        the own node's kernel saw the pod end
//   @1 proxy gw gateway                      a local proxy (sidecar, gateway, ztunnel), `gone`
//   @15..60/0.5 poll gw catalog=a,b,~c       from 15 s on, every 0.5 s, before 60 s: the admin API
//                                            lists a and b, and holds c in the host set alone;
//                                            dns:, static:, dst: (ORIGINAL_DST) before the name of
//                                            a cluster, /L7 after it; west!10.9.9.9 is an endpoint
//                                            whose metadata names the mesh cluster `west`
//   @16..17/0.02 connect gw a refused for=0.001 retries=2 by=app   SYN, outcome, SYN to outcome
//   @90 close gw a stalled since=16          an established connection's end
//   @99 tick                                 time passes
//
// Pods, slices and Services are of namespace `shop`; port 8080. Times are seconds of the boot
// clock; the wall clock is 1,800,000,000 s ahead. A connection's record comes 20 ms after its
// outcome.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/input.h"

namespace phantomd::testing {

class CaseScript {
 public:
  CaseScript();
  explicit CaseScript(std::string_view lines) : CaseScript() { Tell(lines); }

  // Lines may come in any order; what a pod or a node is said to be accumulates in this order.
  CaseScript& Tell(std::string_view lines);

  Header header;
  // In the order of `observed`; equal stamps as written.
  std::vector<Input> Inputs() const;

 private:
  using Words = std::vector<std::string>;
  void TellLine(const Words& words, double at);
  void TellPod(const Words& words, double at);
  void TellSlice(const Words& words, double at);
  void TellNode(const Words& words, double at);
  void TellProxy(const Words& words, double at);
  void TellPoll(const Words& words, double at);
  void TellConnect(const Words& words, double at);
  void TellClose(const Words& words, double at);
  WallTime Wall(std::string_view seconds) const;
  SocketAddr Address(std::string_view pod_or_ip) const;
  void Add(double at, decltype(Input::value) value);

  std::map<std::string, PodChange> pods_;
  std::map<std::string, NodeChange> nodes_;
  std::vector<Input> inputs_;
  uint64_t cookie_ = 0;
};

}  // namespace phantomd::testing
