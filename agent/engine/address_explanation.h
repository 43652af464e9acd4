// AddressExplanation: everything known about one address at one instant, as immutable values. The
// engine answers with it; serve/ and phantomctl show it.
//
// The same content as the message of the same name in proto/phantom/v1/query.proto. Example:
// 10.0.0.7 at 30 s: held by pod A until [20 s, 22 s], nobody since, still believed in by one proxy.
// Thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"
#include "agent/ledger/connection.h"
#include "agent/verdict/verdict.h"

namespace phantomd {

struct AddressExplanation {
  struct BeliefLine {
    ProxyId proxy_id;
    std::string proxy_name;
    std::string cluster;
    SocketAddr address;
    bool believes = false;  // at `time`
    BootTime first_seen;
    BootTime last_seen;
    BootTime gone_by;    // unset: still listed
    std::string health;  // "assigned", "held by the proxy", "dropped", with the failed checks
  };
  SocketAddr address;  // port 0: any
  BootTime time;
  DestinationClass destination = DestinationClass::kUnspecified;
  Certainty certainty = Certainty::kUnspecified;
  UnknownReason unknown_reason = UnknownReason::kUnspecified;
  std::vector<Holder> holders;  // newest first
  std::vector<BeliefLine> beliefs;
  std::vector<std::shared_ptr<const Connection>> recent;  // newest first, at most 20
};

}  // namespace phantomd
