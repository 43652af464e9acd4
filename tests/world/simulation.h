// Simulation: one world from one seed, with one agent in it.
//
// The cluster runs for a while, then the agent starts, watches, polls as its engine demands and
// sees connections; at the end nothing more happens for long enough that every attempt gets its
// verdict. The engine is driven as the agent's core drives it: edges post dated inputs and low
// marks, the core advances. Thread-compatible.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "agent/engine/engine.h"
#include "tests/world/admin_poller.h"
#include "tests/world/agent_feed.h"
#include "tests/world/deployer.h"
#include "tests/world/traffic.h"
#include "tests/world/truth.h"

namespace phantomd::world {

Header HeaderOf(const Scenario& scenario);

class Simulation : public Watcher {
 public:
  struct Options {
    bool keep_inputs = false;  // of the engine, in the order in which it applied them
  };
  Simulation(const Scenario& scenario, uint64_t seed, Options options);

  void Run();

  // --- What was true ---
  const Scenario& scenario() const { return scenario_; }
  uint64_t seed() const { return seed_; }
  BootTime agent_started() const { return agent_started_; }
  const std::deque<TrueAttempt>& attempts() const { return traffic_.attempts(); }
  const std::deque<Change>& changes() const { return deployer_.changes(); }
  const WindowBook& windows() const { return windows_; }
  bool InGap(BootTime t) const { return GapWithin(t, t); }
  bool GapWithin(BootTime from, BootTime to) const;
  // The agent was told of it at some time: of others it cannot know whose they were.
  bool EverTold(const Pod& pod) const { return feed_.EverTold(pod.ref.uid); }
  const Cluster& cluster() const { return cluster_; }

  // --- What the agent made of it ---
  const std::vector<Connection>& judged() const { return judged_; }
  const std::vector<Input>& inputs() const { return inputs_; }
  const Engine& engine() const { return engine_; }

  void Acquired(const Pod& pod) override { windows_.Acquired(pod, agenda_.now()); }
  void Withdrawn(const Pod& pod) override;
  void Died(const Pod& pod) override;

 private:
  void StartAgent();
  void AddProxy();
  void Discover(SimulatedProxy& proxy);
  void RestartProxy();
  void Every(double per_minute, const std::function<void()>& action);
  std::vector<const SimulatedProxy*> LivingProxies() const;

  const Scenario scenario_;
  const uint64_t seed_;
  const BootTime begin_, agent_started_, traffic_ends_;
  bool agent_runs_ = false;
  Random random_;
  Agenda agenda_;
  std::vector<Connection> judged_;
  std::vector<Input> inputs_;
  Engine engine_;
  AgentInbox inbox_;
  Cluster cluster_;
  Deployer deployer_;
  ControlPlane control_;
  AgentFeed feed_;
  AdminPoller poller_;
  Traffic traffic_;
  WindowBook windows_;
  std::deque<SimulatedProxy> proxies_;
};

}  // namespace phantomd::world
