// How a connect ended, from the raw facts that the kernel recorded.
//
// The kernel has no single field for it. sk_err alone would call the commonest phantom of all, a
// proxy that closes a socket whose SYN nobody answers, "no error"; and an ICMP error that arrives
// while connect(2) still runs leaves no error behind either. So the rules below look at everything,
// the first that applies decides:
//
//   the handshake completed                         -> kEstablished
//   connect(2) failed before any SYN                -> kNoRoute, kLocalError or kOtherError
//   ECONNREFUSED and a RST                          -> kRefused
//   an ICMP error, even if the caller then closed   -> kUnreachable
//   ETIMEDOUT                                       -> kTimedOut
//   another error: by its number                    -> kUnreachable, kLocalError or kOtherError
//   no error, and no SYN ever left                  -> kLocalError (no free port)
//   no error: the caller closed or disconnected     -> kAbandoned
//
// Pure.
#pragma once

#include <cstdint>

#include "agent/verdict/attempt.h"
#include "bpf/connect_event.h"

namespace phantomd {

struct ConnectResult {
  Outcome outcome = Outcome::kUnspecified;
  int32_t error_number = 0;  // an errno; 0 with kEstablished and kAbandoned

  friend bool operator==(const ConnectResult&, const ConnectResult&) = default;
};

ConnectResult ClassifyConnect(const connect_record& record);

// Everything but who opened it: initiator and proxy_id are left unset.
Attempt ToAttempt(const connect_record& record);

}  // namespace phantomd
