// What needs the whole index is a question posted to the core, which answers by the promise.
//
// The asker waits for a bounded time only and may be gone when the answer comes: answering then is
// harmless. A question that is dropped unanswered (the agent stops) breaks the promise, which the
// asker reports.
//
// The mailbox is thread-safe. A question belongs to one thread at a time: the asker's until it is
// posted, then the core's; the answer comes back through the promise's future.
#pragma once

#include <future>
#include <memory>

#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/base/mailbox.h"
#include "agent/engine/address_explanation.h"

namespace phantomd {

struct ExplainQuestion {
  SocketAddr address;  // port 0: any
  BootTime time;       // unset: now
  std::promise<AddressExplanation> answer;
};

using ExplainQuestions = Mailbox<std::unique_ptr<ExplainQuestion>>;

}  // namespace phantomd
