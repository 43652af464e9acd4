// HeldAttempt: an attempt that waits for its verdict, since when, until when and for what. Plain
// value.
#pragma once

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/verdict/attempt.h"

namespace phantomd {

// What may wake a waiting attempt before its limit.
struct WaitsFor {
  bool address = false;
  bool nodes = false;
  bool feed = false;
  ProxyId poll;  // empty: no poll

  friend bool operator==(const WaitsFor&, const WaitsFor&) = default;
};

struct HeldAttempt {
  Attempt attempt;
  BootTime observed;
  BootTime due;          // judgement_delay after both its SYN and its outcome
  BootTime first_tried;  // unset: never judged yet
  BootTime next;         // to be decided then
  WaitsFor waits;
  bool silence_told = false;  // the record of silence has heard of it

  friend bool operator==(const HeldAttempt&, const HeldAttempt&) = default;
};

}  // namespace phantomd
