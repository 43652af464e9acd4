#include <fmt/format.h>

#include "agent/base/strings.h"
#include "agent/kube/json_object.h"
#include "agent/kube/object_json.h"

namespace phantomd {
namespace {

void AddRange(const JsonObject& spec, std::string_view field, std::string_view text,
              std::vector<std::string>& out) {
  if (const absl::StatusOr<IpPrefix> range = IpPrefix::Parse(text); range.ok()) {
    out.emplace_back(text);
  } else {
    spec.Fail(field, FromAbsl(range.status().message()));
  }
}

}  // namespace

absl::StatusOr<NodeChange> DecodeNode(simdjson::dom::element object) {
  absl::Status error;
  const JsonObject root(object, &error);
  const JsonObject metadata = root.Object("metadata");
  const JsonObject spec = root.Object("spec");
  const JsonObject status = root.Object("status");

  NodeChange out;
  out.name = metadata.Text("name");
  status.ForEach("conditions", [&](const JsonObject& condition) {
    if (condition.Text("type") != "Ready") return;
    out.ready = condition.Text("status") == "True";
    out.last_heartbeat = condition.Time("lastHeartbeatTime");
  });
  status.ForEach("addresses", [&](const JsonObject& entry) {
    const std::string_view type = entry.Text("type");
    if (type != "InternalIP" && type != "ExternalIP") return;
    if (const auto ip = entry.ParseAddress("address", entry.Text("address"))) {
      out.addresses.push_back(*ip);
    }
  });
  spec.ForEachText("podCIDRs",
                   [&](std::string_view text) { AddRange(spec, "podCIDRs", text, out.pod_cidrs); });
  if (const std::string_view only = spec.Text("podCIDR"); out.pod_cidrs.empty() && !only.empty()) {
    AddRange(spec, "podCIDR", only, out.pod_cidrs);
  }
  if (out.name.empty()) metadata.Fail("name", "missing");
  if (error.ok()) return out;
  return absl::InvalidArgumentError(
      fmt::format("node {}: {}", out.name, FromAbsl(error.message())));
}

}  // namespace phantomd
