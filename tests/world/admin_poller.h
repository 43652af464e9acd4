// AdminPoller answers the engine's PollDemand as the edge that polls admin APIs would.
//
// Every proxy is polled each 15 s; each 50 ms while the engine wants it fast; and once after an
// instant for which attempts wait. One poll of a proxy is outstanding, its admin time lives within
// 2 % of its main thread (a token bucket of 1.2 s, a quarter of it kept for those who wait), a few
// polls fail. The first snapshot, and the one after a failure, is complete; others tell what
// changed. Thread-compatible.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/world/agent_inbox.h"
#include "tests/world/proxy.h"

namespace phantomd::world {

class AdminPoller {
 public:
  AdminPoller(const Scenario& scenario, Agenda& agenda, AgentInbox& inbox, Random random);

  void Add(SimulatedProxy& proxy);
  void Remove(const SimulatedProxy& proxy);
  void Run();  // from now on, for ever

 private:
  struct State {
    SimulatedProxy* proxy = nullptr;
    ProxyId id;
    bool outstanding = false;
    bool complete_next = true;
    double tokens = 1.2;  // seconds of admin time
    BootTime tokens_at, next_slow, next_any, answered_until;
    std::map<std::string, BeliefSnapshot::Cluster> told;
  };
  void Consider(State& state);
  void Poll(State& state);
  void Answer(State& state, BootTime requested, std::vector<BeliefSnapshot::Cluster> view);
  void Fail(State& state, BootTime requested, const std::string& error);

  const Scenario& scenario_;
  Agenda& agenda_;
  AgentInbox& inbox_;
  Random random_;
  std::deque<State> states_;
};

}  // namespace phantomd::world
