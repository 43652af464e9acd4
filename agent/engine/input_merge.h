// InputMerge puts what the edges post into one order of time.
//
// Each edge posts inputs and low marks ("nothing observed earlier will come from me"). An input may
// be applied once it lies before the low mark of every edge; until each edge has posted a mark,
// nothing may. Inputs with one stamp are ordered by edge, then by arrival. Example: kube posts P at
// 5 s and mark 7 s, probe posts A at 4 s and mark 5 s, envoy mark 9 s: A may be applied, P not yet
// (the probe may still post something observed at 5 s).
//
// Thread-compatible.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include "agent/base/boot_time.h"
#include "agent/engine/edge_post.h"
#include "agent/engine/input.h"

namespace phantomd {

class InputMerge {
 public:
  InputMerge();

  // False: the input is older than what was released already (its edge broke its low mark); it is
  // taken all the same, as observed at that instant.
  bool Post(EdgePost post);
  // The earliest input that may be applied now.
  std::optional<Input> Next();
  // The earliest of all that are there, whatever the low marks say: for an end.
  std::optional<Input> NextRegardless();
  // Whether an input is there that waits for a later low mark of this edge.
  bool Awaits(Edge edge) const;
  // Whether an input of this instant, or of one before, is still waiting.
  bool HasInputUntil(BootTime at) const;
  // An input of this instant was applied from elsewhere: what is posted later is not earlier.
  void Released(BootTime at) { released_ = std::max(released_, at); }
  // Everything observed before this instant has been posted; Min: not every edge has spoken yet.
  BootTime safe_until() const;

 private:
  std::optional<Input> Take(BootTime before);
  // The queue with the earliest input; null: none has any.
  const std::deque<Input>* Earliest() const;

  std::array<std::deque<Input>, kEdges> queues_;  // each by `observed`, then arrival
  std::array<BootTime, kEdges> marks_;
  BootTime released_ = BootTime::Min();
};

}  // namespace phantomd
