// The decoder of each kind, which is one for JSON and protobuf: it knows what the fields mean, and
// JsonObject or PbObject knows how they are written.
//
// The rules beside the fields of agent/lifecycle/changes.h are applied here: API defaults, the
// fallbacks podIPs -> podIP and podCIDRs -> podCIDR, names of workloads. What is wrong is noted in
// the Status of the object; the rest is filled in all the same. Pure.
#pragma once

#include "agent/kube/json_object.h"
#include "agent/kube/pb_object.h"
#include "agent/lifecycle/changes.h"

namespace phantomd {

void DecodePod(const JsonObject& root, PodChange& out);
void DecodePod(const PbObject& root, PodChange& out);
void DecodeSlice(const JsonObject& root, SliceChange& out);
void DecodeSlice(const PbObject& root, SliceChange& out);
void DecodeNode(const JsonObject& root, NodeChange& out);
void DecodeNode(const PbObject& root, NodeChange& out);

}  // namespace phantomd
