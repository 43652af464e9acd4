#include <fmt/format.h>

#include "agent/base/strings.h"
#include "agent/kube/json_object.h"
#include "agent/kube/object_json.h"

namespace phantomd {
namespace {

SliceChange::Endpoint Endpoint(const JsonObject& endpoint) {
  SliceChange::Endpoint out;
  endpoint.ForEachText("addresses", [&](std::string_view text) {
    if (const auto ip = endpoint.ParseAddress("addresses", text)) out.addresses.push_back(*ip);
  });
  // The conditions are pointers in the API: an absent one is not false.
  const JsonObject conditions = endpoint.Object("conditions");
  out.ready = conditions.Bool("ready").value_or(true);
  out.serving = conditions.Bool("serving").value_or(out.ready);
  out.terminating = conditions.Bool("terminating").value_or(false);
  const JsonObject target = endpoint.Object("targetRef");
  if (target.Text("kind") == "Pod") out.pod_uid = PodUid(std::string(target.Text("uid")));
  return out;
}

}  // namespace

absl::StatusOr<SliceChange> DecodeSlice(simdjson::dom::element object) {
  absl::Status error;
  const JsonObject root(object, &error);
  const JsonObject metadata = root.Object("metadata");

  SliceChange out;
  out.ns = metadata.Text("namespace");
  out.name = metadata.Text("name");
  out.service = metadata.Object("labels").Text("kubernetes.io/service-name");
  root.ForEach("ports", [&](const JsonObject& port) {
    out.ports.push_back({std::string(port.Text("name")), port.Port("port")});
  });
  // The endpoints of a slice of type FQDN are host names: no address that a pod could hold.
  if (root.Text("addressType") != "FQDN") {
    root.ForEach("endpoints",
                 [&](const JsonObject& endpoint) { out.endpoints.push_back(Endpoint(endpoint)); });
  }
  if (out.name.empty()) metadata.Fail("name", "missing");
  if (error.ok()) return out;
  return absl::InvalidArgumentError(
      fmt::format("endpointslice {}/{}: {}", out.ns, out.name, FromAbsl(error.message())));
}

}  // namespace phantomd
