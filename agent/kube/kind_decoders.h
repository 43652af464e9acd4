// The decoder of each kind, which is one for JSON and protobuf: it knows what the fields mean, and
// JsonObject or PbObject knows how they are written.
//
// The rules beside the fields of agent/lifecycle/changes.h are applied here: API defaults, the
// fallbacks podIPs -> podIP and podCIDRs -> podCIDR, names of workloads. What is wrong is noted in
// the Status of the object; the rest is filled in all the same. What is given back is the object's
// resourceVersion, a part of its bytes. Pure.
#pragma once

#include <string_view>

#include "agent/kube/json_object.h"
#include "agent/kube/pb_object.h"
#include "agent/lifecycle/changes.h"

namespace phantomd {

std::string_view DecodePod(const JsonObject& root, PodChange& out);
std::string_view DecodePod(const PbObject& root, PodChange& out);
std::string_view DecodeSlice(const JsonObject& root, SliceChange& out);
std::string_view DecodeSlice(const PbObject& root, SliceChange& out);
std::string_view DecodeNode(const JsonObject& root, NodeChange& out);
std::string_view DecodeNode(const PbObject& root, NodeChange& out);

}  // namespace phantomd
