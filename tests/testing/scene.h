// Scene: a small language for what happens in a cluster as one agent learns it, a line per event.
// It yields dated Inputs, each with the edge that would post it.
//
// Example, a rolling update that a sidecar learns late:
//   Scene s;
//   s.At(1).Proxy("webapp").Synced();
//   s.At(2).Runs({"old", "10.0.0.1"}).Slice("catalog", {"old"}).Polled("webapp", {{"catalog",
//   {"10.0.0.1"}}}); s.At(10).Terminates("old").Slice("catalog", {}, {"old"});
//   s.At(12).Finishes("old").Deleted("old").Slice("catalog", {});
//   s.At(13).Connects("webapp", "10.0.0.1", Outcome::kAbandoned, 1.0);
//
// Seconds are of the boot clock; the wall clock is 1,800,000,000 s ahead. Plain and deterministic.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/engine/edge_post.h"
#include "agent/engine/input.h"

namespace phantomd::testing {

BootTime Seconds(double seconds);
IpAddr Ip(const std::string& text);

struct PodSpec {
  std::string name;
  std::string ip;
  std::string workload = "catalog";
  std::string revision = "v1";
  std::string node = "node-1";
  std::string ns = "shop";
};

// One cluster in one poll: addresses that the control plane assigned, and ones that the proxy
// holds.
struct PolledCluster {
  std::string service;  // of namespace shop; empty: a cluster without a Service
  std::vector<std::string> ips;
  std::vector<std::string> held = {};
  Discovery discovery = Discovery::kEds;
  Layer layer = Layer::kL4;
};

class Scene {
 public:
  static constexpr uint16_t kPort = 8080;

  struct Event {
    Edge edge;
    Input input;
  };

  Scene();

  Scene& At(double seconds);  // what follows is learned at this instant

  // --- Kubernetes ---
  Scene& Synced();  // all three feeds
  Scene& FeedIs(Feed feed, FeedState state, double good_until = 0);
  Scene& Runs(PodSpec pod);
  Scene& Terminates(const std::string& pod);  // its deletion is requested now
  Scene& Finishes(const std::string& pod);    // its last container finished just now
  Scene& Deleted(const std::string& pod);
  Scene& Relisted(const std::string& pod);  // told again as it is
  // A list lacked it: it went after the watch broke.
  Scene& MissedDeletion(const std::string& pod, double not_before);
  // The one slice of the Service: pods that are ready, pods that terminate but still serve.
  Scene& Slice(const std::string& service, const std::vector<std::string>& ready,
               const std::vector<std::string>& terminating = {});
  Scene& Node(const std::string& name, bool ready, const std::string& pod_cidr = "",
              const std::string& address = "");
  Scene& Ends(const std::string& pod, double ended);  // seen by the kernel of its node

  // --- Proxies ---
  Scene& Proxy(const std::string& pod);
  Scene& ProxyGone(const std::string& pod);
  Scene& Polled(const std::string& proxy, const std::vector<PolledCluster>& clusters);
  Scene& PollFails(const std::string& proxy, const std::string& error);

  // --- Connections: the SYN leaves now; the record comes 20 ms after the outcome ---
  Scene& Connects(const std::string& proxy, const std::string& ip, Outcome outcome, double seconds,
                  Initiator initiator = Initiator::kProxy, uint32_t retransmits = 0);
  Scene& Add(Attempt attempt, double observed);
  Scene& Add(Edge edge, Input input);

  static ProxyId ProxyIdOf(const std::string& pod);
  static PodUid UidOf(const std::string& pod);
  Header header;

  // In the order of `observed`; equal stamps by edge, then as written.
  std::vector<Event> Events() const;

 private:
  PodChange& PodState(const std::string& pod);
  Scene& Tell(Edge edge, decltype(Input::value) value);
  WallTime WallSecondNow() const;

  BootTime now_;
  std::map<std::string, PodChange> pods_;
  std::vector<Event> events_;
  uint64_t cookie_ = 0;
};

}  // namespace phantomd::testing
