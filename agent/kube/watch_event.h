// WatchEvent: one event of a Kubernetes watch on Pods, EndpointSlices or Nodes, cut to the values
// that the engine needs.
//
// Plain values; the parser belongs to one thread and is otherwise stateless.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>
#include <variant>

#include "absl/status/statusor.h"
#include "agent/lifecycle/changes.h"

namespace phantomd {

using ObjectChange = std::variant<PodChange, SliceChange, NodeChange>;

struct WatchEvent {
  enum class Type {
    kChanged,   // ADDED or MODIFIED: the object is now so
    kDeleted,   // it was last so, and is gone
    kBookmark,  // nothing but a sign of life
    kError,     // the watch ends here
  };
  Type type = Type::kBookmark;
  Feed feed = Feed::kUnspecified;  // of which kind the object is; with kError unspecified
  ObjectChange change;             // with kChanged and kDeleted
  std::string error;               // with kError: what the server said
};

// Reads events in the JSON form of `kubectl get KIND -o json --watch --output-watch-events`:
// {"type": "ADDED", "object": {"kind": "Pod", ...}}.
class WatchEventParser {
 public:
  // `text` must be one JSON object; the error is one clause.
  absl::StatusOr<WatchEvent> Parse(std::string_view text);

 private:
  simdjson::dom::parser parser_;
};

// "pod", "endpointslice", "node".
std::string_view KindName(Feed feed);

}  // namespace phantomd
