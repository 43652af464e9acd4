// PollDemand: what the engine wants to know from the proxies' admin APIs, and how urgently.
//
// The engine publishes one whole demand each time it changes; the Envoy edge keeps the pace (token
// bucket, one outstanding poll per proxy). A proxy that is not named is polled slowly.
//
// A plain value; what is published is a copy that nobody changes, so any thread may read it.
#pragma once

#include <cstdint>
#include <map>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"

namespace phantomd {

struct PollDemand {
  struct OfProxy {
    bool fast =
        false;  // a withdrawal touches its belief: poll every 50 ms until it dropped the address
    BootTime
        answer_after;  // set: an attempt waits for a poll *requested* at or after this instant. Any
                       // later snapshot or failed poll, as an Input, is the answer.
    friend bool operator==(const OfProxy&, const OfProxy&) = default;
  };
  std::map<ProxyId, OfProxy> proxies;

  friend bool operator==(const PollDemand&, const PollDemand&) = default;
};

}  // namespace phantomd
