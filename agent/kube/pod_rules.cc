#include "agent/kube/pod_rules.h"

#include <algorithm>
#include <chrono>
#include <string_view>

namespace phantomd {
namespace {

// "catalog" of "catalog-6d5f7c9b8" and "6d5f7c9b8"; empty when the name does not end so.
std::string_view WithoutHash(std::string_view name, std::string_view hash) {
  if (hash.empty() || name.size() < hash.size() + 2 || !name.ends_with(hash)) return {};
  name.remove_suffix(hash.size());
  if (name.back() != '-') return {};
  name.remove_suffix(1);
  return name;
}

}  // namespace

void NameWorkload(const PodOrigin& origin, PodRef& pod) {
  pod.workload.ns = pod.ns;
  if (origin.owner_kind.empty() || origin.owner_kind == "Node") {
    pod.workload.kind = "Pod";
    pod.workload.name = pod.name;
    return;
  }
  pod.workload.kind = origin.owner_kind;
  pod.workload.name = origin.owner_name;
  if (origin.owner_kind != "ReplicaSet") {
    pod.revision = origin.controller_revision_hash;
    return;
  }
  // Argo's controller sets its own label and leaves the Deployment's alone.
  const bool rollout = !origin.rollouts_template_hash.empty();
  pod.revision = rollout ? origin.rollouts_template_hash : origin.pod_template_hash;
  if (const std::string_view owner = WithoutHash(origin.owner_name, pod.revision); !owner.empty()) {
    pod.workload.kind = rollout ? "Rollout" : "Deployment";
    pod.workload.name = owner;
  }
}

WallTime DeletionRequested(WallTime deletion_timestamp, int64_t grace_seconds) {
  if (!deletion_timestamp.is_set()) return {};
  // The API takes any number of seconds, also one whose nanoseconds are no int64_t.
  constexpr int64_t kMost = std::chrono::floor<std::chrono::seconds>(Nanos::max()).count();
  return deletion_timestamp - std::chrono::seconds(std::clamp(grace_seconds, -kMost, kMost));
}

WallTime ContainersFinished(PodPhase phase, size_t declared,
                            std::span<const ContainerState> containers) {
  using Role = ContainerState::Role;
  using State = ContainerState::State;
  const bool terminal = phase == PodPhase::kSucceeded || phase == PodPhase::kFailed;
  WallTime latest;
  size_t told = 0;
  for (const ContainerState& container : containers) {
    const bool serves = container.role == Role::kApp || container.role == Role::kSidecar;
    told += serves ? 1 : 0;
    if (container.state == State::kRunning) return {};
    if (serves && container.state == State::kWaiting && !terminal) return {};
    if (serves && container.state == State::kTerminated && !container.finished.is_set()) return {};
    if (container.state == State::kTerminated) latest = std::max(latest, container.finished);
  }
  if (told < declared && !terminal) return {};
  return latest;
}

}  // namespace phantomd
