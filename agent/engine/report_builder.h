// ReportBuilder: everything the agent has to say at one instant, from what the engine knows. The
// order of every list is that of its keys, so that the same inputs give the same bytes.
#pragma once

#include <memory>

#include "agent/engine/knowledge.h"
#include "agent/engine/report.h"

namespace phantomd {

std::shared_ptr<const Report> BuildReport(const Knowledge& known);

}  // namespace phantomd
