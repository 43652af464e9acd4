// A random cluster by seed: pods that come, are withdrawn, die and hand on their addresses, nodes
// that are lost and come back, proxies that learn it late, restart and lose polls, feeds that break
// and are listed again, a wall clock that is slewed, connections all the while and ends of old
// ones. Every kind of input is among it. Every input has a stamp of its own, so that no tie decides
// anything.
#pragma once

#include <cstdint>

#include "tests/testing/scene.h"

namespace phantomd::testing {

Scene RandomScene(uint64_t seed);

}  // namespace phantomd::testing
