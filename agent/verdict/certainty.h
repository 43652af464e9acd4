// What is never CERTAIN, however few possibilities are left.
#pragma once

#include "agent/verdict/possibilities.h"

namespace phantomd {

// A client that names the address itself may go on to who held it shortly before.
bool ClientMayMeanTheLast(const Possibility& chosen, const Attempt& attempt,
                          const Evidence& evidence);

// True when `chosen`, the only class left, may still not be called certain.
bool NeverCertain(const Possibility& chosen, const Attempt& attempt, const Evidence& evidence,
                  const JudgeContext& context);

}  // namespace phantomd
