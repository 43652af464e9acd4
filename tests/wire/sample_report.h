// A report with something in every field: a rollout of shop/catalog as two proxies went through
// it. For the tests of what shows reports.
//
// Boot time 0 is 2026-11-29T18:59:00Z here, so that the seconds of a BootTime are those of the
// clock on the wall.
#pragma once

#include <memory>

#include "agent/engine/address_explanation.h"
#include "agent/engine/report.h"

namespace phantomd::testing {

// `seconds` after 2026-11-29T18:59:00Z.
BootTime At(double seconds);

// A DEAD connection number `sequence` from shop/webapp-1 to 10.1.0.1:8080, at 3 s + 1 ms *
// sequence.
Connection SampleConnection(uint64_t sequence);

Report SampleReport();

// Why 10.1.0.1 is dead: SampleReport's rollout, one proxy that believes in it and one that does
// not.
AddressExplanation SampleExplanation();

// `connections` put into chunks of `chunk_size`, oldest first.
ConnectionChunks Chunks(const std::vector<Connection>& connections, size_t chunk_size);

}  // namespace phantomd::testing
