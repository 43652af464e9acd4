#include "agent/kube/watch_event.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "agent/base/strings.h"
#include "agent/kube/json_object.h"
#include "agent/kube/pb_envelope.h"
#include "agent/kube/pb_object.h"

namespace phantomd {
namespace {

namespace dom = simdjson::dom;

constexpr std::string_view kInitialEventsEnd = "k8s.io/initial-events-end";
constexpr ApiField kRawOfExtension{"raw", 1};  // of runtime.RawExtension

// Empty when the field is absent or no string.
std::string_view Text(dom::element object, std::string_view field) {
  std::string_view out;
  if (object.at_key(field).get(out) != simdjson::SUCCESS) return {};
  return out;
}

absl::Status Bad(std::string what) { return absl::InvalidArgumentError(what); }

absl::StatusOr<WatchEvent::Type> TypeOf(std::string_view type) {
  if (type == "ADDED" || type == "MODIFIED") return WatchEvent::Type::kChanged;
  if (type == "DELETED") return WatchEvent::Type::kDeleted;
  if (type == "BOOKMARK") return WatchEvent::Type::kBookmark;
  if (type == "ERROR") return WatchEvent::Type::kError;
  return Bad(fmt::format("an event of unknown type \"{}\"", type));
}

// A bookmark's object has nothing but these.
template <typename Object>
void TakeBookmark(const Object& root, WatchEvent& out) {
  namespace meta = api::object_meta;
  const Object metadata = root.Object(api::object::kMetadata);
  out.resource_version = metadata.Text(meta::kResourceVersion);
  metadata.ForEachInMap(meta::kAnnotations, [&](std::string_view key, std::string_view value) {
    if (key == kInitialEventsEnd) out.initial_events_end = value == "true";
  });
}

// Completes an event of type `out.type`. `decoded` is not asked for bookmarks and errors.
absl::Status TakeObject(DecodedObject decoded, WatchEvent& out) {
  if (!decoded.trouble.empty() && !IsNamed(decoded.change)) return Bad(decoded.trouble);
  out.change = std::move(decoded.change);
  out.resource_version = std::move(decoded.resource_version);
  out.trouble = std::move(decoded.trouble);
  return absl::OkStatus();
}

// `object`: what carries the object; its kind is `kind`. `Object` reads it field by field.
template <typename Object, typename Source>
absl::StatusOr<WatchEvent> MakeEvent(WatchEvent::Type type, std::string_view kind,
                                     const Source& object) {
  WatchEvent out{.type = type};
  if (type == WatchEvent::Type::kError) {
    absl::StatusOr<ApiStatus> status = DecodeStatus(object);
    // Whatever it says, the watch has ended.
    out.error = status.ok() ? *std::move(status)
                            : ApiStatus{.message = std::string(status.status().message())};
    return out;
  }
  out.feed = FeedOfKind(kind);
  if (out.feed == Feed::kUnspecified) {
    return Bad(
        fmt::format("an object of kind \"{}\", which is no Pod, EndpointSlice or Node", kind));
  }
  if (type == WatchEvent::Type::kBookmark) {
    absl::Status error;
    TakeBookmark(Object(object, &error), out);
    if (!error.ok()) return Bad(fmt::format("a bookmark: {}", FromAbsl(error.message())));
    return out;
  }
  if (absl::Status status = TakeObject(DecodeObject(out.feed, object), out); !status.ok()) {
    return status;
  }
  return out;
}

}  // namespace

absl::StatusOr<WatchEvent> WatchEventParser::Parse(std::string_view text) {
  dom::element root;
  if (const auto error = parser_.parse(text.data(), text.size()).get(root)) {
    return Bad(fmt::format("not JSON: {}", simdjson::error_message(error)));
  }
  const std::string_view type_name = Text(root, "type");
  if (type_name.empty()) {
    const std::string_view kind = Text(root, "kind");
    if (kind.empty()) return Bad("neither a watch event nor a Kubernetes object");
    return Bad(
        fmt::format("a {} without an event around it: kubectl needs --output-watch-events", kind));
  }
  const absl::StatusOr<WatchEvent::Type> type = TypeOf(type_name);
  if (!type.ok()) return type.status();
  dom::element object;
  if (root.at_key("object").get(object) != simdjson::SUCCESS || !object.is_object()) {
    return Bad(fmt::format("the {} event has no object", type_name));
  }
  return MakeEvent<JsonObject>(*type, Text(object, "kind"), object);
}

absl::StatusOr<WatchEvent> ParseWatchFrame(std::string_view frame) {
  absl::Status error;
  const PbObject root(frame, &error);
  const std::string_view type_name = root.Text(api::watch_event::kType);
  const std::string_view object = root.Object(api::watch_event::kObject).Bytes(kRawOfExtension);
  if (!error.ok()) return Bad(fmt::format("no watch event: {}", FromAbsl(error.message())));
  const absl::StatusOr<WatchEvent::Type> type = TypeOf(type_name);
  if (!type.ok()) return type.status();
  if (object.empty()) return Bad(fmt::format("the {} event has no object", type_name));
  const absl::StatusOr<PbEnvelope> envelope = OpenPbEnvelope(object);
  if (!envelope.ok()) {
    return Bad(fmt::format("the object of the {} event is {}", type_name,
                           FromAbsl(envelope.status().message())));
  }
  return MakeEvent<PbObject>(*type, envelope->kind, envelope->raw);
}

}  // namespace phantomd
