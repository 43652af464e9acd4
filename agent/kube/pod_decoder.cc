#include <algorithm>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "agent/kube/kind_decoders.h"
#include "agent/kube/pod_rules.h"

namespace phantomd {
namespace {

using Role = ContainerState::Role;
using State = ContainerState::State;

// An Object is a JsonObject or a PbObject.
template <typename Object>
PodOrigin Origin(const Object& metadata) {
  namespace meta = api::object_meta;
  PodOrigin out;
  metadata.ForEach(meta::kOwnerReferences, [&](const Object& owner) {
    if (!owner.Bool(api::owner_reference::kController).value_or(false)) return;
    out.owner_kind = owner.Text(api::owner_reference::kKind);
    out.owner_name = owner.Text(api::owner_reference::kName);
  });
  metadata.ForEachInMap(meta::kLabels, [&](std::string_view key, std::string_view value) {
    if (key == "pod-template-hash") out.pod_template_hash = value;
    if (key == "rollouts-pod-template-hash") out.rollouts_template_hash = value;
    if (key == "controller-revision-hash") out.controller_revision_hash = value;
  });
  return out;
}

PodPhase PhaseOf(std::string_view phase) {
  if (phase == "Pending") return PodPhase::kPending;
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  if (phase == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnspecified;  // "Unknown" is not written since Kubernetes 1.5
}

template <typename Object>
std::vector<IpAddr> Addresses(const Object& status) {
  namespace fields = api::pod_status;
  std::vector<IpAddr> out;
  status.ForEach(fields::kPodIps, [&](const Object& entry) {
    const std::string_view text = entry.Text(api::pod_ip::kIp);
    if (const auto ip = entry.ParseAddress(api::pod_ip::kIp, text)) out.push_back(*ip);
  });
  if (const std::string_view only = status.Text(fields::kPodIp); out.empty() && !only.empty()) {
    if (const auto ip = status.ParseAddress(fields::kPodIp, only)) out.push_back(*ip);
  }
  return out;
}

template <typename Object>
bool Ready(const Object& status) {
  bool out = false;
  status.ForEach(api::pod_status::kConditions, [&](const Object& condition) {
    if (condition.Text(api::condition::kType) != "Ready") return;
    out = condition.Text(api::condition::kStatus) == "True";
  });
  return out;
}

template <typename Object>
ContainerState StateOf(const Object& status, Role role) {
  namespace fields = api::container_state;
  const Object state = status.Object(api::container_status::kState);
  ContainerState out{.role = role};
  if (state.Has(fields::kRunning)) {
    out.state = State::kRunning;
  } else if (state.Has(fields::kTerminated)) {
    out.state = State::kTerminated;
    out.finished = state.Object(fields::kTerminated).Time(api::container_terminated::kFinishedAt);
  }
  return out;
}

template <typename Object>
WallTime Finished(const Object& spec, const Object& status, PodPhase phase) {
  size_t declared = spec.Count(api::pod_spec::kContainers);
  absl::InlinedVector<std::string_view, 4> sidecars;
  spec.ForEach(api::pod_spec::kInitContainers, [&](const Object& container) {
    if (container.Text(api::container::kRestartPolicy) != "Always") return;
    sidecars.push_back(container.Text(api::container::kName));
  });
  declared += sidecars.size();

  absl::InlinedVector<ContainerState, 8> states;
  status.ForEach(api::pod_status::kContainerStatuses, [&](const Object& container) {
    states.push_back(StateOf(container, Role::kApp));
  });
  status.ForEach(api::pod_status::kInitContainerStatuses, [&](const Object& container) {
    const std::string_view name = container.Text(api::container_status::kName);
    const bool sidecar = std::find(sidecars.begin(), sidecars.end(), name) != sidecars.end();
    states.push_back(StateOf(container, sidecar ? Role::kSidecar : Role::kInit));
  });
  status.ForEach(api::pod_status::kEphemeralContainerStatuses, [&](const Object& container) {
    states.push_back(StateOf(container, Role::kEphemeral));
  });
  return ContainersFinished(phase, declared, {states.data(), states.size()});
}

template <typename Object>
std::string_view Decode(const Object& root, PodChange& out) {
  namespace meta = api::object_meta;
  const Object metadata = root.Object(api::object::kMetadata);
  const Object spec = root.Object(api::object::kSpec);
  const Object status = root.Object(api::object::kStatus);
  out.pod.uid = PodUid(std::string(metadata.Text(meta::kUid)));
  out.pod.ns = metadata.Text(meta::kNamespace);
  out.pod.name = metadata.Text(meta::kName);
  NameWorkload(Origin(metadata), out.pod);
  out.pod.node_name = spec.Text(api::pod_spec::kNodeName);
  out.ips = Addresses(status);
  out.host_network = spec.Bool(api::pod_spec::kHostNetwork).value_or(false);
  out.phase = PhaseOf(status.Text(api::pod_status::kPhase));
  out.ready = Ready(status);
  out.deletion_requested = DeletionRequested(metadata.Time(meta::kDeletionTimestamp),
                                             metadata.Integer(meta::kDeletionGracePeriodSeconds));
  out.containers_finished = Finished(spec, status, out.phase);
  out.departure_reason = status.Text(api::pod_status::kReason);
  out.created = metadata.Time(meta::kCreationTimestamp);
  if (out.pod.uid.empty()) metadata.Fail(meta::kUid, "missing");
  if (out.pod.name.empty()) metadata.Fail(meta::kName, "missing");
  return metadata.Text(api::object_meta::kResourceVersion);
}

}  // namespace

std::string_view DecodePod(const JsonObject& root, PodChange& out) { return Decode(root, out); }
std::string_view DecodePod(const PbObject& root, PodChange& out) { return Decode(root, out); }

}  // namespace phantomd
