// The answers of several agents as one. Every agent sees the connections of its own node and the
// pods of the whole cluster: proxies, connections and stale endpoints add up, a rollout is the sum
// of what its agents saw, an address is explained by what all believe.
//
// A median cannot be made from medians: where two agents have one, it is left out unless the values
// themselves are there. One answer alone is never changed.
//
// Pure functions: any thread may call them.
#pragma once

#include <vector>

#include "phantom/v1/query.pb.h"

namespace phantomd {

phantom::v1::ListProxiesResponse Merge(std::vector<phantom::v1::ListProxiesResponse> answers);
phantom::v1::ListRolloutsResponse Merge(std::vector<phantom::v1::ListRolloutsResponse> answers);
phantom::v1::Rollout Merge(std::vector<phantom::v1::Rollout> answers);  // of the same name
phantom::v1::ListConnectionsResponse Merge(
    std::vector<phantom::v1::ListConnectionsResponse> answers);
phantom::v1::ListStaleEndpointsResponse Merge(
    std::vector<phantom::v1::ListStaleEndpointsResponse> answers);
phantom::v1::AddressExplanation Merge(std::vector<phantom::v1::AddressExplanation> answers);

}  // namespace phantomd
