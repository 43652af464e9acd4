// What the fields of a Pod mean, whatever form the Pod came in: which workload and revision it
// belongs to, when its deletion was requested, and since when none of its containers runs.
//
// Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "agent/base/nouns.h"
#include "agent/lifecycle/changes.h"

namespace phantomd {

// What a Pod's metadata tells about who made it.
struct PodOrigin {
  std::string owner_kind;  // the owner reference with controller: true; empty: none
  std::string owner_name;
  std::string pod_template_hash;         // label pod-template-hash
  std::string rollouts_template_hash;    // label rollouts-pod-template-hash (Argo Rollouts)
  std::string controller_revision_hash;  // label controller-revision-hash
};

// Sets `workload` and `revision` of a pod whose ns and name are set.
//
// A ReplicaSet of a Deployment is named <deployment>-<hash>, and so tells the Deployment without a
// look at the ReplicaSet itself. A pod without an owner, and a static pod (owned by its Node), is
// its own workload of kind Pod.
void NameWorkload(const PodOrigin& origin, PodRef& pod);

// deletionTimestamp minus deletionGracePeriodSeconds: the API server keeps that difference at the
// time of the request when the grace period is shortened, but for the last deletion with grace 0
// (apiserver: pkg/registry/rest/delete.go). Unset when the timestamp is.
WallTime DeletionRequested(WallTime deletion_timestamp, int64_t grace_seconds);

struct ContainerState {
  enum class Role {
    kApp,
    kSidecar,    // an init container with restartPolicy Always
    kInit,       // any other init container
    kEphemeral,  // added for debugging
  };
  enum class State { kWaiting, kRunning, kTerminated };
  Role role = Role::kApp;
  State state = State::kWaiting;
  WallTime finished;  // of a terminated one; unset: not told
};

// The latest finishedAt, if no container of the pod runs, or may since have been started again;
// unset otherwise.
//
// `declared`: how many app and sidecar containers the spec has. One of them that waits, or has no
// status yet, may run by now; with a terminal phase it never will. A terminated one whose
// finishedAt is not told may have outlived the others.
//   Example: app terminated at 18:59:03, sidecar terminated at 18:59:05  -> 18:59:05
//            app terminated at 18:59:03, sidecar running                 -> unset
//            app waits (CrashLoopBackOff), phase Running                 -> unset
WallTime ContainersFinished(PodPhase phase, size_t declared,
                            std::span<const ContainerState> containers);

}  // namespace phantomd
