// A random cluster by seed: pods that come, are withdrawn, die and hand on their addresses, proxies
// that learn it late, feeds that break, and connections all the while. Every input has a stamp of
// its own, so that no tie decides anything.
#pragma once

#include <cstdint>

#include "tests/testing/scene.h"

namespace phantomd::testing {

Scene RandomScene(uint64_t seed);

}  // namespace phantomd::testing
