// What one judged attempt looks like to people: the verdict with the pods it names, as they are
// known at the moment of judgement.
#pragma once

#include "agent/base/nouns.h"
#include "agent/ledger/connection.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/verdict/attempt.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

// `proxy` may be null: none known. `now` is the instant of the judgement.
Connection JudgedConnection(const Attempt& attempt, const Proxy* proxy, const Verdict& verdict,
                            const Lifecycle& lifecycle, BootTime now);

}  // namespace phantomd
