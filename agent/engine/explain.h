// Explain: everything known about one address at one instant: who held it and when, which proxies
// believed in it, and the latest connections that met it withdrawn, dead or reused.
#pragma once

#include "agent/engine/address_explanation.h"
#include "agent/engine/knowledge.h"

namespace phantomd {

// Port 0: any.
AddressExplanation ExplainAddress(const Knowledge& known, const SocketAddr& address, BootTime time);

}  // namespace phantomd
