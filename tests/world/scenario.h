// Scenario: what kind of world is to be simulated, and what is to happen in it.
//
// Rates are per minute; 0: never. Plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace phantomd::world {

// What an agent's verdicts on a scenario must reach; shares of 1.
struct Limits {
  double recall = 0.97;
  double inferred_share = 0.05;
  double attribution = 0.97;
  double window_true = 0.97;
};

struct Scenario {
  std::string name;
  Limits limits;

  // --- The cluster ---
  uint32_t nodes = 4;
  bool shared_pool = false;  // one pool of addresses for all nodes, no podCIDRs
  uint32_t addresses_per_node = 60;
  double cooldown = 5;  // seconds in which a freed address is not given out
  bool reuses_last_freed = false;
  double nodes_rejecting = 0.25;  // share of nodes that answer for dead addresses by ICMP
  uint32_t slice_size = 4;
  bool has_slices = true;
  uint32_t workloads = 5;
  uint32_t replicas = 4;
  double stops_after = 1.0;   // median seconds from TERM to the end
  double port_closers = 0.3;  // share of workloads that stop listening on TERM

  // --- What happens, per minute ---
  double rollouts = 0;
  double broken_rollouts = 0;  // that never get ready and are rolled back
  double scalings = 0;
  double deletions = 0;
  double forced = 0;
  double evictions = 0;
  double crashes = 0;
  double flaps = 0;
  double moves = 0;  // of an endpoint between slices
  double jobs = 0;
  double node_losses = 0;
  double node_losses_for = 1e6;  // seconds from the beginning
  double gaps = 0;
  double proxy_restarts = 0;

  // --- Proxies, all on the own node ---
  uint32_t proxies = 5;
  bool clusters_name_services = true;
  double held = 0;             // share of EDS clusters with active health checks
  double dns = 0;              // share of Services reached by DNS clusters
  double original_dst = 0;     // share of Services reached as headless ones
  double static_clusters = 0;  // chance of a proxy to have one
  double push_median = 0.25;   // seconds from the control plane's decision to apply
  double push_sigma = 0.9;
  double stuck = 0.03;        // chance of a push to hang for many seconds
  double update_times = 0.5;  // share of proxies that keep update_time
  double poll_failures = 0.005;

  // --- The agent ---
  double agent_starts = 20;    // seconds after the cluster
  bool knows_services = true;  // false: no slices are to be seen
  bool endpointslices_scope = false;
  double watched = 150;  // seconds of traffic that are judged

  // --- Traffic ---
  double attempts = 240;  // per minute and proxy
};

const std::vector<Scenario>& Scenarios();

}  // namespace phantomd::world
