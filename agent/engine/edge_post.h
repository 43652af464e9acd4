// EdgePost: what an edge puts into the core's mailbox.
//
// Every edge posts dated inputs and, at least four times a second and whenever it is asked, a low
// mark: "nothing observed earlier than this will come from me any more". The core merges the edges
// by stamp: it applies an input once every edge's low mark has passed it. An edge that stops for
// good posts BootTime::Max().
#pragma once

#include <variant>

#include "agent/engine/input.h"

namespace phantomd {

enum class Edge { kProbe = 0, kKube = 1, kEnvoy = 2 };
inline constexpr int kEdges = 3;

struct EdgePost {
  Edge edge;
  std::variant<Input, BootTime> value;  // an input, or this edge's low mark
};

}  // namespace phantomd
