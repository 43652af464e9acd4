#include <string_view>

#include "agent/base/strings.h"
#include "agent/kube/kind_decoders.h"

namespace phantomd {
namespace {

// An Object is a JsonObject or a PbObject.
template <typename Object>
void AddRange(const Object& spec, ApiField field, std::string_view text,
              std::vector<std::string>& out) {
  if (const absl::StatusOr<IpPrefix> range = IpPrefix::Parse(text); range.ok()) {
    out.emplace_back(text);
  } else {
    spec.Fail(field, FromAbsl(range.status().message()));
  }
}

template <typename Object>
std::string_view Decode(const Object& root, NodeChange& out) {
  const Object metadata = root.Object(api::object::kMetadata);
  const Object spec = root.Object(api::object::kSpec);
  const Object status = root.Object(api::object::kStatus);
  out.name = metadata.Text(api::object_meta::kName);
  status.ForEach(api::node_status::kConditions, [&](const Object& condition) {
    if (condition.Text(api::condition::kType) != "Ready") return;
    out.ready = condition.Text(api::condition::kStatus) == "True";
    out.last_heartbeat = condition.Time(api::condition::kLastHeartbeatTime);
  });
  status.ForEach(api::node_status::kAddresses, [&](const Object& entry) {
    namespace fields = api::node_address;
    const std::string_view type = entry.Text(fields::kType);
    if (type != "InternalIP" && type != "ExternalIP") return;
    const std::string_view text = entry.Text(fields::kAddress);
    if (const auto ip = entry.ParseAddress(fields::kAddress, text)) out.addresses.push_back(*ip);
  });
  namespace ranges = api::node_spec;
  spec.ForEachText(ranges::kPodCidrs, [&](std::string_view text) {
    AddRange(spec, ranges::kPodCidrs, text, out.pod_cidrs);
  });
  if (const std::string_view only = spec.Text(ranges::kPodCidr);
      out.pod_cidrs.empty() && !only.empty()) {
    AddRange(spec, ranges::kPodCidr, only, out.pod_cidrs);
  }
  if (out.name.empty()) metadata.Fail(api::object_meta::kName, "missing");
  return metadata.Text(api::object_meta::kResourceVersion);
}

}  // namespace

std::string_view DecodeNode(const JsonObject& root, NodeChange& out) { return Decode(root, out); }
std::string_view DecodeNode(const PbObject& root, NodeChange& out) { return Decode(root, out); }

}  // namespace phantomd
