// AgentInbox: the mailbox between the agent's edges and its engine, in simulated time.
//
// Each edge keeps what it learned for a while, then posts it, in any order, with its low mark; the
// engine advances whenever somebody posted. Thread-compatible.
#pragma once

#include <array>
#include <vector>

#include "agent/engine/engine.h"
#include "tests/world/agenda.h"
#include "tests/world/random.h"

namespace phantomd::world {

class AgentInbox {
 public:
  AgentInbox(Agenda& agenda, Engine& engine, Random random);

  // Learned now, by this edge.
  template <typename Value>
  void Learn(Edge edge, Value value) {
    pending_[static_cast<size_t>(edge)].push_back({agenda_.now(), std::move(value)});
  }
  void Run();  // from now on, for ever
  const Engine& engine() const { return engine_; }

 private:
  void Flush(size_t edge);

  Agenda& agenda_;
  Engine& engine_;
  Random random_;
  std::array<std::vector<Input>, kEdges> pending_;
};

}  // namespace phantomd::world
