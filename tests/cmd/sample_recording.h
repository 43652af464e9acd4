// A recording in which pod shop/catalog-a leaves its address, and a proxy goes on using it:
// before that 3 attempts to it that are answered, after it 2 that nobody answers. That this was a
// rollout is known only after their verdicts, when the pod of the next revision appears.
#pragma once

#include <string>
#include <vector>

#include "agent/engine/input.h"

namespace phantomd::testing {

std::vector<Input> SampleRecording();

// The bytes of a recording of these inputs.
std::string Recorded(const std::vector<Input>& inputs);

}  // namespace phantomd::testing
