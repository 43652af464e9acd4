// Windows of one change: for each proxy, from the first of its departing pods' addresses withdrawn
// to the last of them gone from the proxy.
//
// Example: pods A and B depart, A withdrawn in [98, 100] s, B in [108, 110] s. Polls of proxy P
// list A's address last at 101.00 s and not at 101.05 s, B's last at 112.00 s and not at 112.05 s:
//   P's window opens at 99.9 (the likely instant: news usually takes 0.1 s) and closes at
//   112.025 +- 0.025 s.
// A proxy that never believed in any of them has no window unless it connected to them; then it
// ends with its last connection. A belief that begins after the address had a new owner is that
// owner's; and one that the Service's own new pod made right again ended when that pod got the
// address.
//
// Pure functions.
#pragma once

#include <vector>

#include "absl/container/inlined_vector.h"
#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"
#include "agent/belief/belief.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/pod_tally.h"
#include "agent/lifecycle/lifecycle.h"

namespace phantomd {

// One address of one departed pod.
struct DepartedAddress {
  IpAddr ip;
  PodHandle next = PodHandle::kNone;  // who got it afterwards
  TimeBounds next_acquired;
};

struct DepartedPod {
  PodHandle pod = PodHandle::kNone;
  TimeBounds left;       // withdrawn, or, if it never was in service, dead
  BootTime likely_left;  // the later bound minus what news usually takes
  TimeBounds released;
  absl::InlinedVector<DepartedAddress, 2> addresses;
};

// The pods of the change that are out of service by `now`. `typical_delay`: what news usually
// takes.
std::vector<DepartedPod> DepartedPods(const WorkloadChange& change, const Lifecycle& lifecycle,
                                      BootTime now, Nanos typical_delay);

struct OneWindow {
  bool exists = false;
  WindowFigures figures;
};
// `connections`: the sum over the change's pods.
OneWindow WindowOf(const ProxyId& proxy, const std::vector<DepartedPod>& pods,
                   const PodTally& connections, const Lifecycle& lifecycle, const Belief& belief);

// An open window lasts until `now`.
Nanos LengthOf(const WindowFigures& window, BootTime now);
// Slowest first, open ones before closed ones.
void SortWindows(std::vector<WindowFigures>& windows);
BootTime Middle(const TimeBounds& bounds);

}  // namespace phantomd
