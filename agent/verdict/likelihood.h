// Which of several possibilities is the likeliest.
//
// After silence "nobody" comes first. Otherwise the SYN is compared with the *likely* instant of
// each change, which is the later bound minus what news usually takes. Example: A released in
// [20 s, 22 s], likely at 21.9 s; B acquired in [21 s, 23 s], likely at 22.9 s; SYN at 22.5 s,
// refused: neither is likely to hold it -> nobody. Answered at once: the nearer change, B's at 22.9
// s.
#pragma once

#include "agent/verdict/possibilities.h"

namespace phantomd {

// Of the possibilities other than an untold pod; null when there is none.
const Possibility* Likeliest(const Possibilities& left, const Attempt& attempt);

}  // namespace phantomd
