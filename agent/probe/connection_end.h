// What became of an established connection, from the raw facts that the kernel recorded. The first
// rule that applies decides:
//
//   the third retransmission went out               -> kStalled (the connection lives on)
//   both FINs had been sent                         -> kClosed
//   ECONNRESET or EPIPE, and a RST                  -> kReset
//   ECONNABORTED: an operator or policy destroyed it -> kAborted
//   another error: the kernel gave it up            -> kExpired
//   no error, before any FIN was acknowledged       -> kAborted (unread data, SO_LINGER 0, ...)
//   no error                                        -> kClosed
//
// Pure.
#pragma once

#include "agent/verdict/attempt.h"
#include "bpf/connect_event.h"

namespace phantomd {

ConnectionEnd::How ClassifyEnd(const end_record& record);

// Everything but who opened it: initiator and proxy_id are left unset.
ConnectionEnd ToConnectionEnd(const end_record& record);

}  // namespace phantomd
