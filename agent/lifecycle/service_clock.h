// ServiceClock: whether one tenancy was in service at an instant, as far as the slices and the
// deletion request tell.
//
// The second clock of a pod. A pod is withdrawn once no slice of a Service that listed it has it
// ready any more, or its deletion was requested, whichever is first; a pod that was never ready is
// not withdrawn, one that no slice ever listed is withdrawn by its deletion request alone. Example,
// feed_delay 2 s, clock_error 0.5 s: ready at 10 s; deletion requested at 100 (wall = boot), told
// at 100.2 s; the slice says terminating at 100.4 s: withdrawn in [99.5 s, 100.2 s]. At 99 s in
// service, at 100 s both are possible, at 101 s withdrawn. The slice saying unready without
// terminating would be news of its own: [98.4 s, 100.2 s].
//
// Pure arithmetic.
#pragma once

#include "agent/base/boot_time.h"
#include "agent/lifecycle/service_index.h"
#include "agent/lifecycle/time_rules.h"

namespace phantomd {

struct ServiceState {
  bool may_be_in_service = true;
  bool may_be_withdrawn = false;
  // The withdrawal that t may lie behind, else the next one after t; Max: none.
  TimeBounds withdrawn = {BootTime::Max(), BootTime::Max()};
  BootTime likely_withdrawn = BootTime::Max();
};

// `listings`: the tenancy's chain in `services`; `deletion`: bounds of the request, Max if none.
ServiceState ServiceStateAt(const ServiceIndex& services, uint32_t listings, const FeedLog& feed,
                            const TimeBounds& deletion, const TimeRules& rules, BootTime t);

}  // namespace phantomd
