// SteadyWorld: a cluster in steady state, of any length, as the inputs of a recording, in order.
//
// Sixty Services of three pods roll one after the other, addresses come from a pool and come again,
// proxies learn of it late and restart, a Service is renamed now and then, a watch breaks and is
// listed again, connections are opened all the while (a thousand a second) and some outlive their
// pod. Whatever is remembered for ever shows as memory that grows. The same length gives the same
// inputs.
#pragma once

#include <cstdint>
#include <functional>

#include "agent/engine/input.h"

namespace phantomd::testing {

// Calls `sink` with the Header, then with everything that happens until so many attempts were made.
// Returns how many of them are judged: the others are downstream halves.
uint64_t PlaySteadyWorld(uint64_t attempts, const std::function<void(const Input&)>& sink);

}  // namespace phantomd::testing
