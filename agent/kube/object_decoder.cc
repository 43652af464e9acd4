#include "agent/kube/object_decoder.h"

#include <fmt/format.h>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/kube/kind_decoders.h"

namespace phantomd {
namespace {

std::string NameOf(const ObjectChange& change) {
  if (const auto* pod = std::get_if<PodChange>(&change)) {
    return fmt::format("pod {}/{}", pod->pod.ns, pod->pod.name);
  }
  if (const auto* slice = std::get_if<SliceChange>(&change)) {
    return fmt::format("endpointslice {}/{}", slice->ns, slice->name);
  }
  return fmt::format("node {}", std::get<NodeChange>(change).name);
}

template <typename Object>
DecodedObject Decode(Feed feed, const Object& root, const absl::Status& error) {
  DecodedObject out;
  switch (feed) {
    case Feed::kPods:
      out.resource_version = DecodePod(root, out.change.emplace<PodChange>());
      break;
    case Feed::kSlices:
      out.resource_version = DecodeSlice(root, out.change.emplace<SliceChange>());
      break;
    case Feed::kNodes:
      out.resource_version = DecodeNode(root, out.change.emplace<NodeChange>());
      break;
    case Feed::kUnspecified:
      PHANTOMD_CHECK(feed != Feed::kUnspecified);
  }
  if (!error.ok()) {
    out.trouble = fmt::format("{}: {}", NameOf(out.change), FromAbsl(error.message()));
  }
  return out;
}

}  // namespace

DecodedObject DecodeObject(Feed feed, simdjson::dom::element object) {
  absl::Status error;
  const JsonObject root(object, &error);
  return Decode(feed, root, error);
}

DecodedObject DecodeObject(Feed feed, std::string_view message) {
  absl::Status error;
  const PbObject root(message, &error);
  return Decode(feed, root, error);
}

std::string KeyOf(const ObjectChange& change) {
  if (const auto* pod = std::get_if<PodChange>(&change)) return pod->pod.uid.value();
  if (const auto* slice = std::get_if<SliceChange>(&change)) {
    return fmt::format("{}/{}", slice->ns, slice->name);
  }
  return std::get<NodeChange>(change).name;
}

bool IsNamed(const ObjectChange& change) {
  if (const auto* pod = std::get_if<PodChange>(&change)) return !pod->pod.uid.empty();
  if (const auto* slice = std::get_if<SliceChange>(&change)) return !slice->name.empty();
  return !std::get<NodeChange>(change).name.empty();
}

Feed FeedOf(const ObjectChange& change) {
  if (std::holds_alternative<PodChange>(change)) return Feed::kPods;
  return std::holds_alternative<SliceChange>(change) ? Feed::kSlices : Feed::kNodes;
}

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

Feed FeedOfKind(std::string_view kind) {
  if (kind == "Pod") return Feed::kPods;
  if (kind == "EndpointSlice") return Feed::kSlices;
  if (kind == "Node") return Feed::kNodes;
  return Feed::kUnspecified;
}

}  // namespace phantomd
