// One Pod, EndpointSlice or Node as JSON or protobuf, cut to the values that the engine needs. Both
// forms of one object give the same value.
//
// `deleted` and `not_before` are not part of the object and stay unset. Trouble is one clause that
// names the field and, where it is known, the object:
//   "pod shop/catalog-x: status.podIP: not an IP address: \"10.0.0\"".
//
// Pure.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>
#include <variant>

#include "agent/lifecycle/changes.h"

namespace phantomd {

using ObjectChange = std::variant<PodChange, SliceChange, NodeChange>;

struct DecodedObject {
  ObjectChange change;
  std::string resource_version;
  // Not empty: what is wrong. Then the change tells no more than which object it is, and that only
  // if IsNamed().
  std::string trouble;
};

// `feed` says which kind it is; `object` must be a JSON object.
DecodedObject DecodeObject(Feed feed, simdjson::dom::element object);
// `message`: the object itself, without an envelope.
DecodedObject DecodeObject(Feed feed, std::string_view message);

// What tells objects of one kind apart: a pod's UID, a node's name, "<namespace>/<name>" of a
// slice.
std::string KeyOf(const ObjectChange& change);
// Whether the change tells which object it is.
bool IsNamed(const ObjectChange& change);
Feed FeedOf(const ObjectChange& change);

// "pod", "endpointslice", "node".
std::string_view KindName(Feed feed);
// "Pod" -> kPods; "PodList" and everything else -> kUnspecified.
Feed FeedOfKind(std::string_view kind);

}  // namespace phantomd
