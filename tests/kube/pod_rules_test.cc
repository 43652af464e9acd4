#include "agent/kube/pod_rules.h"

#include "gtest/gtest.h"

namespace phantomd {
namespace {

TEST(NameWorkloadTest, OwnerAndLabelsTellWorkloadAndRevision) {
  const struct {
    const char* what;
    PodOrigin origin;
    const char* kind;
    const char* name;
    const char* revision;
  } cases[] = {
      {"Deployment",
       {.owner_kind = "ReplicaSet", .owner_name = "catalog-6d5f", .pod_template_hash = "6d5f"},
       "Deployment",
       "catalog",
       "6d5f"},
      {"Deployment whose name has dashes",
       {.owner_kind = "ReplicaSet", .owner_name = "a-b-6d5f", .pod_template_hash = "6d5f"},
       "Deployment",
       "a-b",
       "6d5f"},
      {"Argo Rollout",
       {.owner_kind = "ReplicaSet", .owner_name = "pay-77aa", .rollouts_template_hash = "77aa"},
       "Rollout",
       "pay",
       "77aa"},
      {"Argo's hash wins over the Deployment's",
       {.owner_kind = "ReplicaSet",
        .owner_name = "pay-77aa",
        .pod_template_hash = "6d5f",
        .rollouts_template_hash = "77aa"},
       "Rollout",
       "pay",
       "77aa"},
      {"bare ReplicaSet",
       {.owner_kind = "ReplicaSet", .owner_name = "cache"},
       "ReplicaSet",
       "cache",
       ""},
      {"ReplicaSet that is not named after the hash",
       {.owner_kind = "ReplicaSet", .owner_name = "cache", .pod_template_hash = "6d5f"},
       "ReplicaSet",
       "cache",
       "6d5f"},
      {"ReplicaSet named like the hash alone",
       {.owner_kind = "ReplicaSet", .owner_name = "-6d5f", .pod_template_hash = "6d5f"},
       "ReplicaSet",
       "-6d5f",
       "6d5f"},
      {"StatefulSet",
       {.owner_kind = "StatefulSet", .owner_name = "db", .controller_revision_hash = "db-7b9f"},
       "StatefulSet",
       "db",
       "db-7b9f"},
      {"DaemonSet",
       {.owner_kind = "DaemonSet", .owner_name = "agent", .controller_revision_hash = "5f6b"},
       "DaemonSet",
       "agent",
       "5f6b"},
      {"Job", {.owner_kind = "Job", .owner_name = "report-28871"}, "Job", "report-28871", ""},
      {"another controller",
       {.owner_kind = "CloneSet", .owner_name = "web"},
       "CloneSet",
       "web",
       ""},
      {"static pod", {.owner_kind = "Node", .owner_name = "node-a"}, "Pod", "me", ""},
      {"no owner, but a hash", {.pod_template_hash = "6d5f"}, "Pod", "me", ""},
  };
  for (const auto& c : cases) {
    PodRef pod{.ns = "shop", .name = "me"};
    NameWorkload(c.origin, pod);
    EXPECT_EQ(pod.workload, (WorkloadRef{"shop", c.kind, c.name})) << c.what;
    EXPECT_EQ(pod.revision, c.revision) << c.what;
  }
}

WallTime At(int64_t seconds) { return WallTime::FromNanos(seconds * 1'000'000'000); }

TEST(DeletionRequestedTest, IsTheTimestampMinusTheGrace) {
  EXPECT_EQ(DeletionRequested(At(1030), 30), At(1000));
  EXPECT_EQ(DeletionRequested(At(1030), 0), At(1030));
  EXPECT_FALSE(DeletionRequested({}, 30).is_set());
  // The API takes any number of seconds.
  EXPECT_LT(DeletionRequested(At(1030), std::numeric_limits<int64_t>::max()), At(-1'000'000'000));
  EXPECT_GT(DeletionRequested(At(1030), std::numeric_limits<int64_t>::min()), At(1'000'000'000));
}

using Role = ContainerState::Role;
using State = ContainerState::State;

TEST(ContainersFinishedTest, LatestFinishOnceNoneRunsOrMayRunAgain) {
  const ContainerState done_10{Role::kApp, State::kTerminated, At(10)};
  const ContainerState done_12{Role::kApp, State::kTerminated, At(12)};
  const ContainerState running{Role::kApp, State::kRunning, {}};
  const ContainerState waiting{Role::kApp, State::kWaiting, {}};
  const ContainerState untold{Role::kApp, State::kTerminated, {}};
  const ContainerState sidecar_running{Role::kSidecar, State::kRunning, {}};
  const ContainerState sidecar_waiting{Role::kSidecar, State::kWaiting, {}};
  const ContainerState sidecar_14{Role::kSidecar, State::kTerminated, At(14)};
  const ContainerState init_5{Role::kInit, State::kTerminated, At(5)};
  const ContainerState init_untold{Role::kInit, State::kTerminated, {}};
  const ContainerState init_running{Role::kInit, State::kRunning, {}};
  const ContainerState debug_running{Role::kEphemeral, State::kRunning, {}};
  const ContainerState debug_waiting{Role::kEphemeral, State::kWaiting, {}};
  const PodPhase alive = PodPhase::kRunning;
  const struct {
    const char* what;
    PodPhase phase;
    size_t declared;
    std::vector<ContainerState> containers;
    int64_t seconds;  // 0: unset
  } cases[] = {
      {"no status at all", alive, 1, {}, 0},
      {"one runs", alive, 2, {done_10, running}, 0},
      {"all finished", alive, 2, {done_12, done_10}, 12},
      {"one waits to be started again", alive, 2, {done_10, waiting}, 0},
      {"one has no status yet", alive, 2, {done_10}, 0},
      {"when the phase is terminal, one that waits never starts",
       PodPhase::kFailed,
       2,
       {done_10, waiting},
       10},
      {"nor does one without a status", PodPhase::kSucceeded, 2, {done_10}, 10},
      {"evicted before it ran", PodPhase::kFailed, 1, {}, 0},
      {"a finish that is not told may be the latest", PodPhase::kFailed, 2, {done_10, untold}, 0},
      {"the sidecar runs on", alive, 2, {done_10, sidecar_running}, 0},
      {"the sidecar waits", alive, 2, {done_10, sidecar_waiting}, 0},
      {"the sidecar ended last", alive, 2, {done_10, sidecar_14}, 14},
      {"an init container ended long ago", alive, 1, {init_5, done_10}, 10},
      {"an init container whose end is not told matters to nobody",
       alive,
       1,
       {init_untold, done_10},
       10},
      {"an init container runs", PodPhase::kPending, 1, {init_running, waiting}, 0},
      {"a debugging container runs", alive, 1, {done_10, debug_running}, 0},
      {"a debugging container that never ran", alive, 1, {done_10, debug_waiting}, 10},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(ContainersFinished(c.phase, c.declared, c.containers), At(c.seconds)) << c.what;
  }
}

}  // namespace
}  // namespace phantomd
