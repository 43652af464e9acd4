// Why the proxy connected to an address that was no longer in service, through which cluster, and
// whether an HTTP log could have shown it.
//
// Of several clusters the first in the order of the causes counts, unless connect counts told which
// one was used (see service_meaning.h). A cluster that had dropped the address, and lists it again
// only by the first poll after the SYN, had most likely not done so yet: nobody is told to use what
// is out of service.
#pragma once

#include <string_view>

#include "agent/verdict/possibilities.h"

namespace phantomd {

struct Explanation {
  Cause cause = Cause::kUnspecified;  // of WITHDRAWN, DEAD and REUSED only
  Layer layer = Layer::kUnspecified;
  std::string_view cluster;
};

Explanation ExplainBelief(const Possibility& chosen, const Attempt& attempt,
                          const Evidence& evidence, const Candidates& candidates,
                          Nanos dropped_memory);

}  // namespace phantomd
