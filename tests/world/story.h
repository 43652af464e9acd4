// The inputs that bear on one address, as lines of text: what there was to know about a verdict.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/input.h"
#include "tests/world/score.h"

namespace phantomd::world {

std::string TextOf(const Found& found);

}  // namespace phantomd::world
