// What holds of every Report, whatever the engine was told: figures are sums of their parts,
// nothing is counted twice, verdicts are complete.
#pragma once

#include "agent/engine/report.h"

namespace phantomd::fuzz {

// Ends the process where something does not hold.
void CheckReport(const Report& report);
// Of a judged attempt, LIVE and EXTERNAL ones too.
void CheckVerdict(const Connection& connection);

}  // namespace phantomd::fuzz
