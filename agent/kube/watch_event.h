// WatchEvent: one event of a Kubernetes watch on Pods, EndpointSlices or Nodes, cut to the values
// that the engine needs.
//
// Plain values; the parser belongs to one thread and is otherwise stateless.
#pragma once

#include <simdjson.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/kube/api_status.h"
#include "agent/kube/object_decoder.h"

namespace phantomd {

struct WatchEvent {
  enum class Type {
    kChanged,   // ADDED or MODIFIED: the object is now so
    kDeleted,   // it was last so, and is gone
    kBookmark,  // nothing but a sign of life and how far the watch has come
    kError,     // the watch ends here
  };
  Type type = Type::kBookmark;
  Feed feed = Feed::kUnspecified;  // of which kind the object is; with kError unspecified
  ObjectChange change;             // with kChanged and kDeleted
  // Not empty: the object was not understood; the change tells no more than which object it is.
  std::string trouble;
  std::string resource_version;     // not with kError
  bool initial_events_end = false;  // with kBookmark: everything that exists has been told
  ApiStatus error;                  // with kError
};

// Reads events in the JSON form of a watch and of `kubectl get KIND -o json --watch
// --output-watch-events`: {"type": "ADDED", "object": {"kind": "Pod", ...}}.
class WatchEventParser {
 public:
  // `text` must be one JSON object. The error is one clause: what is no event, or an object that
  // does not tell which one it is.
  absl::StatusOr<WatchEvent> Parse(std::string_view text);

 private:
  simdjson::dom::parser parser_;
};

// The same from one frame of a watch in protobuf: a meta.v1.WatchEvent whose object is in an
// envelope of its own. The error is as above.
absl::StatusOr<WatchEvent> ParseWatchFrame(std::string_view frame);

}  // namespace phantomd
