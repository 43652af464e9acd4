// A small language for what a proxy tells, so that a case is one line:
//
//   script.Complete(25, "web: 10.0.0.1:80#5 10.0.0.2:80*; db@24.5:");
//
// At 25 s (requested 0.1 s before) the proxy lists cluster web with one assigned endpoint that has
// counted 5 connects and one that is in the host set only, and cluster db, updated at wall second
// 24.5 (the clocks agree unless told otherwise), with none.
#pragma once

#include <string>
#include <string_view>

#include "agent/belief/belief.h"

namespace phantomd::testing {

BootTime At(double seconds);
WallTime WallAt(double seconds);
SocketAddr Address(std::string_view text);  // "10.0.0.1:80"
IpAddr Ip(std::string_view text);

// The clusters of one snapshot.
std::vector<BeliefSnapshot::Cluster> Clusters(std::string_view text);

class BeliefScript {
 public:
  explicit BeliefScript(Belief& belief, std::string proxy = "p")
      : belief_(belief), proxy_(std::move(proxy)) {}

  void Complete(double received, std::string_view clusters);
  void Changed(double received, std::string_view clusters, std::string_view removed = "");
  void Failed(double received, std::string error = "connection refused");

  void set_poll_seconds(double seconds) { poll_seconds_ = seconds; }
  const ProxyId& proxy() const { return proxy_; }

 private:
  BeliefSnapshot Snapshot(double received) const;

  Belief& belief_;
  const ProxyId proxy_;
  double poll_seconds_ = 0.1;  // received - requested
};

}  // namespace phantomd::testing
