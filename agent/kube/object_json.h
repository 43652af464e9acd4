// One Pod, EndpointSlice or Node as JSON, cut to the values that the engine needs.
//
// The rules beside the fields of agent/lifecycle/changes.h are applied here: API defaults, the
// fallbacks podIPs -> podIP and podCIDRs -> podCIDR, names of workloads. `deleted` and `not_before`
// are not part of the object and stay unset. An error is one clause that names the field and, where
// it is known, the object: "pod shop/catalog-x: status.podIP: not an IP address: \"10.0.0\"".
//
// `object` must be a JSON object. Pure.
#pragma once

#include <simdjson.h>

#include "absl/status/statusor.h"
#include "agent/lifecycle/changes.h"

namespace phantomd {

absl::StatusOr<PodChange> DecodePod(simdjson::dom::element object);
absl::StatusOr<SliceChange> DecodeSlice(simdjson::dom::element object);
absl::StatusOr<NodeChange> DecodeNode(simdjson::dom::element object);

}  // namespace phantomd
