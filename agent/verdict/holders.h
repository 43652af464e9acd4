// Naming the pods of a verdict: whose departure made the address stale, who held it at the SYN, and
// the likely instants at which the stale one was withdrawn and died.
#pragma once

#include "agent/verdict/possibilities.h"

namespace phantomd {

void NameHolders(const Possibility& chosen, const Attempt& attempt, const Evidence& evidence,
                 Nanos typical_delay, Verdict& verdict);

// Who likely holds the address at `t`; kNone: nobody, or it cannot be told.
PodHandle LikelyHolder(const AddressFacts& address, BootTime t);

}  // namespace phantomd
