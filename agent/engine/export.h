// Export: what the engine was told and still knows, as the inputs that a new engine must be told to
// know the same.
//
// The header comes first, dated now; then everything else in the order of its original `observed`,
// which lies before. What the engine concluded, and what still waits, is for Core to add.
#pragma once

#include <functional>

#include "agent/engine/knowledge.h"

namespace phantomd {

void ExportKnowledge(const Knowledge& known, const std::function<void(const Input&)>& sink);

}  // namespace phantomd
