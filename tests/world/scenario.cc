#include "tests/world/scenario.h"

namespace phantomd::world {
namespace {

Scenario Quiet() {
  Scenario s{.name = "quiet", .limits = {.recall = 0.98}};
  s.scalings = 0.8;
  s.deletions = 0.8;
  s.flaps = 0.5;
  return s;
}

Scenario Rolling() {
  Scenario s{.name = "rolling", .limits = {.recall = 0.98}};
  s.rollouts = 2;
  s.broken_rollouts = 0.2;
  s.scalings = 0.5;
  return s;
}

Scenario Held() {
  Scenario s = Rolling();
  s.name = "held";
  s.held = 0.8;
  return s;
}

// An address that its own Service gets again within a second is listed all the while: when it was
// made right, the bounds of the new pod's acquisition tell, and hardly ever to 50 ms.
Scenario ReuseStorm() {
  Scenario s{.name = "reuse_storm", .limits = {.window_true = 0.95}};
  s.rollouts = 4;
  s.deletions = 1;
  s.addresses_per_node = 9;
  s.cooldown = 0;
  s.reuses_last_freed = true;
  s.stops_after = 0.4;
  s.stuck = 0.05;
  return s;
}

Scenario SharedPool() {
  Scenario s = ReuseStorm();
  s.name = "shared_pool";
  s.limits.window_true = 0.97;
  s.shared_pool = true;
  s.addresses_per_node = 7;
  s.reuses_last_freed = false;
  return s;
}

Scenario Gaps() {
  Scenario s{.name = "gaps"};
  s.rollouts = 2;
  s.deletions = 1;
  s.gaps = 1.2;
  return s;
}

Scenario LateStart() {
  Scenario s{.name = "late_start"};
  s.rollouts = 3;
  s.deletions = 2;
  s.agent_starts = 70;
  s.stuck = 0.15;
  s.watched = 60;
  return s;
}

Scenario DnsAndOriginalDst() {
  Scenario s{.name = "dns_odst"};
  s.rollouts = 2;
  s.deletions = 1;
  s.dns = 0.4;
  s.original_dst = 0.4;
  return s;
}

Scenario Jobs() {
  Scenario s{.name = "jobs"};
  s.rollouts = 0.5;
  s.jobs = 12;
  return s;
}

Scenario NodeLoss() {
  Scenario s{.name = "node_loss"};
  s.rollouts = 0.5;
  s.node_losses = 0.25;
  s.nodes = 8;
  return s;
}

// Nodes that were gone before the agent began, whose ranges nobody tells it: what proxies were
// given once and for all still leads there, and whether a pod or something else was behind it is
// beyond the agent's knowledge.
Scenario GoneNodes() {
  Scenario s{.name = "gone_nodes"};
  s.rollouts = 1.5;
  s.deletions = 0.5;
  s.node_losses = 0.8;
  s.node_losses_for = 60;
  s.nodes = 8;
  s.static_clusters = 0.3;
  s.agent_starts = 190;
  s.watched = 90;
  return s;
}

Scenario CrashLoops() {
  Scenario s{.name = "crash_loops"};
  s.rollouts = 1;
  s.broken_rollouts = 0.5;
  s.crashes = 6;
  s.deletions = 2;
  return s;
}

Scenario Forced() {
  Scenario s{.name = "force_deletes"};
  s.rollouts = 0.5;
  s.forced = 3;
  s.evictions = 1.5;
  return s;
}

// What replaced what is lost where gaps, lost nodes and overlapping changes of one workload meet,
// and with it which pods a window is made of.
Scenario Everything() {
  Scenario s{.name = "everything",
             .limits = {.recall = 0.94, .attribution = 0.94, .window_true = 0.95}};
  s.rollouts = 2;
  s.broken_rollouts = 0.3;
  s.scalings = 0.6;
  s.deletions = 1;
  s.forced = 0.6;
  s.evictions = 0.6;
  s.crashes = 1.5;
  s.flaps = 1;
  s.moves = 1;
  s.jobs = 3;
  s.node_losses = 0.1;
  s.gaps = 0.5;
  s.proxy_restarts = 0.5;
  s.held = 0.3;
  s.dns = 0.15;
  s.original_dst = 0.15;
  s.static_clusters = 0.1;
  s.addresses_per_node = 9;
  s.reuses_last_freed = true;
  s.cooldown = 1;
  s.nodes = 5;
  return s;
}

// Of pods on other nodes the agent knows no workload: what replaced a pod, and which pod of a
// change was the first to go, is beyond it.
Scenario SlicesOnly() {
  Scenario s{.name = "endpointslices", .limits = {.attribution = 0}};
  s.rollouts = 2;
  s.deletions = 1;
  s.endpointslices_scope = true;
  return s;
}

// Standalone proxies whose clusters have names of their own. The agent is there from the beginning:
// of an address with a past that it has not seen, it could never be certain whom the proxy means.
Scenario Nameless() {
  Scenario s{.name = "nameless", .limits = {.inferred_share = 0.20}};
  s.rollouts = 2;
  s.deletions = 1;
  s.clusters_name_services = false;
  s.agent_starts = -5;
  s.addresses_per_node = 20;
  s.cooldown = 2;
  return s;
}

// The agent may not list slices: what rests on them is never CERTAIN.
Scenario NoSlices() {
  Scenario s{.name = "no_slices", .limits = {.inferred_share = 1}};
  s.rollouts = 2;
  s.deletions = 1;
  s.knows_services = false;
  s.addresses_per_node = 16;
  return s;
}

}  // namespace

const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> scenarios = {
      Quiet(),      Rolling(),           Held(),     ReuseStorm(), SharedPool(), Gaps(),
      LateStart(),  DnsAndOriginalDst(), Jobs(),     NodeLoss(),   CrashLoops(), Forced(),
      SlicesOnly(), Nameless(),          NoSlices(), GoneNodes(),  Everything()};
  return scenarios;
}

}  // namespace phantomd::world
