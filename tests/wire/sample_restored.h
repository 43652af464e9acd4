// One restored part of every kind, with every field set to a value of its own that is not its
// default.
#pragma once

#include <vector>

#include "agent/engine/restored.h"
#include "tests/wire/sample_values.h"

namespace phantomd::testing {

std::vector<RestoredPart> EveryRestoredPart(SampleValues& v);

}  // namespace phantomd::testing
