// Which of several possibilities is the likeliest.
//
// After silence "nobody" comes first. Otherwise the SYN is compared with the *likely* instant of
// each change, which is the later bound minus what news usually takes. Example: A released in
// [20 s, 22 s], likely at 21.9 s; B acquired in [21 s, 23 s], likely at 22.9 s; SYN at 22.5 s,
// refused: neither is likely to hold it -> nobody. Answered at once: the nearer change,
// B's at 22.9 s.
//
// A refusal tells more: it came from somebody's network namespace, that of the last holder, which
// outlives its containers by a moment, or that of the next one, whose address is told only later.
// Example: A likely released at 21.9 s, B likely acquired at 25 s; refused at 22.1 s: A's, so
// nobody held it; at 24 s: B's.
#pragma once

#include "agent/verdict/possibilities.h"

namespace phantomd {

// Of the possibilities other than an untold pod; null when there is none. `last`: the latest
// tenancy that may have ended by the SYN.
const Possibility* Likeliest(const Possibilities& left, const Attempt& attempt,
                             const TenancyFacts& last);

}  // namespace phantomd
