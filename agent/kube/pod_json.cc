#include <fmt/format.h>

#include <vector>

#include "absl/container/inlined_vector.h"
#include "agent/base/strings.h"
#include "agent/kube/json_object.h"
#include "agent/kube/object_json.h"
#include "agent/kube/pod_rules.h"

namespace phantomd {
namespace {

using Role = ContainerState::Role;
using State = ContainerState::State;

PodOrigin Origin(const JsonObject& metadata) {
  PodOrigin out;
  metadata.ForEach("ownerReferences", [&](const JsonObject& owner) {
    if (!owner.Bool("controller").value_or(false)) return;
    out.owner_kind = owner.Text("kind");
    out.owner_name = owner.Text("name");
  });
  const JsonObject labels = metadata.Object("labels");
  out.pod_template_hash = labels.Text("pod-template-hash");
  out.rollouts_template_hash = labels.Text("rollouts-pod-template-hash");
  out.controller_revision_hash = labels.Text("controller-revision-hash");
  return out;
}

PodPhase Phase(const JsonObject& status) {
  const std::string_view phase = status.Text("phase");
  if (phase == "Pending") return PodPhase::kPending;
  if (phase == "Running") return PodPhase::kRunning;
  if (phase == "Succeeded") return PodPhase::kSucceeded;
  if (phase == "Failed") return PodPhase::kFailed;
  return PodPhase::kUnspecified;  // "Unknown" is not written since Kubernetes 1.5
}

std::vector<IpAddr> Addresses(const JsonObject& status) {
  std::vector<IpAddr> out;
  status.ForEach("podIPs", [&](const JsonObject& entry) {
    if (const auto ip = entry.ParseAddress("ip", entry.Text("ip"))) out.push_back(*ip);
  });
  if (const std::string_view only = status.Text("podIP"); out.empty() && !only.empty()) {
    if (const auto ip = status.ParseAddress("podIP", only)) out.push_back(*ip);
  }
  return out;
}

bool Ready(const JsonObject& status) {
  bool out = false;
  status.ForEach("conditions", [&](const JsonObject& condition) {
    if (condition.Text("type") == "Ready") out = condition.Text("status") == "True";
  });
  return out;
}

ContainerState StateOf(const JsonObject& status, Role role) {
  const JsonObject state = status.Object("state");
  ContainerState out{.role = role};
  if (state.Has("running")) {
    out.state = State::kRunning;
  } else if (state.Has("terminated")) {
    out.state = State::kTerminated;
    out.finished = state.Object("terminated").Time("finishedAt");
  }
  return out;
}

WallTime Finished(const JsonObject& spec, const JsonObject& status, PodPhase phase) {
  size_t declared = 0;
  spec.ForEach("containers", [&](const JsonObject&) { ++declared; });
  absl::InlinedVector<std::string_view, 4> sidecars;
  spec.ForEach("initContainers", [&](const JsonObject& container) {
    if (container.Text("restartPolicy") == "Always") sidecars.push_back(container.Text("name"));
  });
  declared += sidecars.size();

  absl::InlinedVector<ContainerState, 8> states;
  status.ForEach("containerStatuses", [&](const JsonObject& container) {
    states.push_back(StateOf(container, Role::kApp));
  });
  status.ForEach("initContainerStatuses", [&](const JsonObject& container) {
    const bool sidecar =
        std::find(sidecars.begin(), sidecars.end(), container.Text("name")) != sidecars.end();
    states.push_back(StateOf(container, sidecar ? Role::kSidecar : Role::kInit));
  });
  status.ForEach("ephemeralContainerStatuses", [&](const JsonObject& container) {
    states.push_back(StateOf(container, Role::kEphemeral));
  });
  return ContainersFinished(phase, declared, {states.data(), states.size()});
}

}  // namespace

absl::StatusOr<PodChange> DecodePod(simdjson::dom::element object) {
  absl::Status error;
  const JsonObject root(object, &error);
  const JsonObject metadata = root.Object("metadata");
  const JsonObject spec = root.Object("spec");
  const JsonObject status = root.Object("status");

  PodChange out;
  out.pod.uid = PodUid(std::string(metadata.Text("uid")));
  out.pod.ns = metadata.Text("namespace");
  out.pod.name = metadata.Text("name");
  NameWorkload(Origin(metadata), out.pod);
  out.pod.node_name = spec.Text("nodeName");
  out.ips = Addresses(status);
  out.host_network = spec.Bool("hostNetwork").value_or(false);
  out.phase = Phase(status);
  out.ready = Ready(status);
  out.deletion_requested = DeletionRequested(metadata.Time("deletionTimestamp"),
                                             metadata.Integer("deletionGracePeriodSeconds"));
  out.containers_finished = Finished(spec, status, out.phase);
  out.departure_reason = status.Text("reason");
  out.created = metadata.Time("creationTimestamp");
  if (out.pod.uid.empty()) metadata.Fail("uid", "missing");
  if (out.pod.name.empty()) metadata.Fail("name", "missing");
  if (error.ok()) return out;
  return absl::InvalidArgumentError(
      fmt::format("pod {}/{}: {}", out.pod.ns, out.pod.name, FromAbsl(error.message())));
}

}  // namespace phantomd
