// EndOfBelief: when the last of several stays of one IP ended, all clusters and ports together.
//
// Example, from = 10: cluster A held it in [5, 20], cluster B in [12, 30], A again in [200, open]:
//   the belief that was held at 10 went on until B let go at 30; the stay at 200 is another belief.
//   With from = 40 the answer is "still held": the one that begins at 200.
//   With from = 40 and until = 150 it was never held: what begins at 200 is somebody else's.
#pragma once

#include <vector>

#include "agent/base/boot_time.h"
#include "agent/belief/endpoint_history.h"

namespace phantomd {

// See Belief::LetGo.
TimeBounds EndOfBelief(std::vector<EndpointHistory::Stay> stays, BootTime from, BootTime until);

}  // namespace phantomd
