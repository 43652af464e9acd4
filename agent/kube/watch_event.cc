#include "agent/kube/watch_event.h"

#include <fmt/format.h>

#include <optional>

#include "agent/base/check.h"
#include "agent/kube/object_json.h"

namespace phantomd {
namespace {

namespace dom = simdjson::dom;

// Empty when the field is absent or no string.
std::string_view Text(dom::element object, std::string_view field) {
  std::string_view out;
  if (object.at_key(field).get(out) != simdjson::SUCCESS) return {};
  return out;
}

absl::Status Bad(std::string what) { return absl::InvalidArgumentError(what); }

std::optional<WatchEvent::Type> TypeOf(std::string_view type) {
  if (type == "ADDED" || type == "MODIFIED") return WatchEvent::Type::kChanged;
  if (type == "DELETED") return WatchEvent::Type::kDeleted;
  if (type == "BOOKMARK") return WatchEvent::Type::kBookmark;
  if (type == "ERROR") return WatchEvent::Type::kError;
  return std::nullopt;
}

Feed FeedOf(std::string_view kind) {
  if (kind == "Pod") return Feed::kPods;
  if (kind == "EndpointSlice") return Feed::kSlices;
  if (kind == "Node") return Feed::kNodes;
  return Feed::kUnspecified;
}

absl::StatusOr<ObjectChange> DecodeObject(Feed feed, dom::element object) {
  if (feed == Feed::kPods) return DecodePod(object);
  if (feed == Feed::kSlices) return DecodeSlice(object);
  PHANTOMD_CHECK(feed == Feed::kNodes);
  return DecodeNode(object);
}

}  // namespace

std::string_view KindName(Feed feed) {
  switch (feed) {
    case Feed::kPods:
      return "pod";
    case Feed::kSlices:
      return "endpointslice";
    case Feed::kNodes:
      return "node";
    case Feed::kUnspecified:
      break;
  }
  return "object";
}

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
  const std::optional<WatchEvent::Type> type = TypeOf(type_name);
  if (!type) return Bad(fmt::format("an event of unknown type \"{}\"", type_name));
  dom::element object;
  if (root.at_key("object").get(object) != simdjson::SUCCESS || !object.is_object()) {
    return Bad(fmt::format("the {} event has no object", type_name));
  }

  WatchEvent out{.type = *type};
  if (out.type == WatchEvent::Type::kError) {
    out.error = fmt::format("{}: {}", Text(object, "reason"), Text(object, "message"));
    return out;
  }
  const std::string_view kind = Text(object, "kind");
  out.feed = FeedOf(kind);
  if (out.feed == Feed::kUnspecified) {
    return Bad(
        fmt::format("an object of kind \"{}\", which is no Pod, EndpointSlice or Node", kind));
  }
  if (out.type == WatchEvent::Type::kBookmark) return out;
  absl::StatusOr<ObjectChange> change = DecodeObject(out.feed, object);
  if (!change.ok()) return change.status();
  out.change = *std::move(change);
  return out;
}

}  // namespace phantomd
