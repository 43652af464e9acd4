// HeldEnd: the end of an established connection, held until it can be told whether it outlived its
// pod. Plain value.
#pragma once

#include "agent/base/boot_time.h"
#include "agent/verdict/attempt.h"

namespace phantomd {

struct HeldEnd {
  ConnectionEnd end;
  BootTime observed;
  BootTime first_tried;  // unset: not looked at yet
  BootTime next;         // to be decided then
  bool waits_for_feed = false;
  bool waits_for_address = false;

  friend bool operator==(const HeldEnd&, const HeldEnd&) = default;
};

}  // namespace phantomd
