#include "tests/world/agent_inbox.h"

#include <utility>

namespace phantomd::world {

AgentInbox::AgentInbox(Agenda& agenda, Engine& engine, Random random)
    : agenda_(agenda), engine_(engine), random_(std::move(random)) {}

void AgentInbox::Run() {
  for (size_t edge = 0; edge < kEdges; ++edge) {
    if (random_.Chance(0.7)) Flush(edge);
  }
  engine_.Advance();
  agenda_.In(Span(0.04), [this] { Run(); });
}

void AgentInbox::Flush(size_t edge) {
  std::vector<Input>& inputs = pending_[edge];
  // Within an edge, what bears one stamp keeps its order; everything else may come in any.
  std::vector<std::vector<Input>> groups;
  for (Input& input : inputs) {
    if (groups.empty() || groups.back().front().observed != input.observed) groups.emplace_back();
    groups.back().push_back(std::move(input));
  }
  random_.Shuffle(groups);
  for (std::vector<Input>& group : groups) {
    for (Input& input : group) engine_.Post({static_cast<Edge>(edge), std::move(input)});
  }
  inputs.clear();
  engine_.Post({static_cast<Edge>(edge), agenda_.now()});
}

}  // namespace phantomd::world
