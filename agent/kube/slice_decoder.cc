#include <string_view>

#include "agent/kube/kind_decoders.h"

namespace phantomd {
namespace {

// An Object is a JsonObject or a PbObject.
template <typename Object>
SliceChange::Endpoint Endpoint(const Object& endpoint) {
  namespace fields = api::endpoint;
  SliceChange::Endpoint out;
  endpoint.ForEachText(fields::kAddresses, [&](std::string_view text) {
    if (const auto ip = endpoint.ParseAddress(fields::kAddresses, text)) {
      out.addresses.push_back(*ip);
    }
  });
  // The conditions are pointers in the API: an absent one is not false.
  const Object conditions = endpoint.Object(fields::kConditions);
  out.ready = conditions.Bool(api::endpoint_conditions::kReady).value_or(true);
  out.serving = conditions.Bool(api::endpoint_conditions::kServing).value_or(out.ready);
  out.terminating = conditions.Bool(api::endpoint_conditions::kTerminating).value_or(false);
  const Object target = endpoint.Object(fields::kTargetRef);
  if (target.Text(api::object_reference::kKind) == "Pod") {
    out.pod_uid = PodUid(std::string(target.Text(api::object_reference::kUid)));
  }
  return out;
}

template <typename Object>
std::string_view Decode(const Object& root, SliceChange& out) {
  namespace meta = api::object_meta;
  namespace fields = api::endpoint_slice;
  const Object metadata = root.Object(api::object::kMetadata);
  out.ns = metadata.Text(meta::kNamespace);
  out.name = metadata.Text(meta::kName);
  metadata.ForEachInMap(meta::kLabels, [&](std::string_view key, std::string_view value) {
    if (key == "kubernetes.io/service-name") out.service = value;
  });
  root.ForEach(fields::kPorts, [&](const Object& port) {
    out.ports.push_back(
        {std::string(port.Text(api::endpoint_port::kName)), port.Port(api::endpoint_port::kPort)});
  });
  // The endpoints of a slice of type FQDN are host names: no address that a pod could hold.
  if (root.Text(fields::kAddressType) != "FQDN") {
    root.ForEach(fields::kEndpoints,
                 [&](const Object& endpoint) { out.endpoints.push_back(Endpoint(endpoint)); });
  }
  if (out.name.empty()) metadata.Fail(meta::kName, "missing");
  return metadata.Text(api::object_meta::kResourceVersion);
}

}  // namespace

std::string_view DecodeSlice(const JsonObject& root, SliceChange& out) { return Decode(root, out); }
std::string_view DecodeSlice(const PbObject& root, SliceChange& out) { return Decode(root, out); }

}  // namespace phantomd
