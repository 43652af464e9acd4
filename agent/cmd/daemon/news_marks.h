// NewsMarks says which posts of the edges the core should look at without waiting for its next
// round: the low mark behind news, with which the news can be applied, and one that was asked for.
//
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <variant>

#include "agent/engine/edge_post.h"

namespace phantomd {

class NewsMarks {
 public:
  // To be asked about every post, once, before it is taken.
  bool IsUrgent(const EdgePost& post) {
    std::atomic<bool>& awaited = awaited_[static_cast<size_t>(post.edge)];
    if (std::holds_alternative<BootTime>(post.value)) return awaited.exchange(false);
    awaited = true;
    return false;
  }
  // The edge's next mark is urgent.
  void Await(Edge edge) { awaited_[static_cast<size_t>(edge)] = true; }

 private:
  std::array<std::atomic<bool>, kEdges> awaited_{};  // by edge: its next mark is
};

}  // namespace phantomd
