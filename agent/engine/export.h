// Export: what the engine knows, as the inputs that a new engine must be told to know the same.
//
// The header comes first, dated now; then everything else in the order of its original `observed`,
// which lies before. Attempts that still wait for their verdict are among it. Counts are not: they
// belong to the run that counted.
#pragma once

#include <functional>

#include "agent/engine/end_queue.h"
#include "agent/engine/knowledge.h"

namespace phantomd {

void ExportKnowledge(const Knowledge& known, const EndQueue& ends,
                     const std::function<void(const Input&)>& sink);

}  // namespace phantomd
