// One Input of every kind, with every field set to a value of its own that is not its default.
//
// Shared by the tests of everything that carries inputs. `EveryInput()` begins with the Header.
#pragma once

#include <vector>

#include "agent/engine/input.h"

namespace phantomd::testing {

std::vector<Input> EveryInput();

}  // namespace phantomd::testing
