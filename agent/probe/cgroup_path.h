// Which pod and which container a process belongs to, from its /proc/PID/cgroup.
//
// The text has one line per hierarchy, `id:controllers:path`; cgroup v2 is the line `0::path`. The
// path is the kubelet's and differs by driver, runtime and distribution, so that only its two
// telling parts are looked for:
//
//   /kubepods/burstable/pod0a1b2c3d-.../4f5e...                                     cgroupfs
//   /kubepods.slice/kubepods-burstable.slice/
//       kubepods-burstable-pod0a1b2c3d_....slice/cri-containerd-4f5e....scope       systemd
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/base/ids.h"

namespace phantomd {

struct CgroupOwner {
  PodUid pod_uid;            // empty: no pod; underscores of systemd's form are dashes again
  std::string container_id;  // empty: unknown

  friend bool operator==(const CgroupOwner&, const CgroupOwner&) = default;
};

// Of one path.
CgroupOwner OwnerOfCgroupPath(std::string_view path);

// Of all lines; the first one that names a pod decides.
CgroupOwner OwnerOfCgroups(std::string_view proc_cgroup);

// One cgroup of a pod: the pod's own, or one of those right below it, of which each container has
// one, the sandbox process too.
struct PodCgroup {
  PodUid pod_uid;
  std::string member;   // the name of the one below the pod's; empty: the pod's own
  bool inside = false;  // deeper still: a part of that container

  friend bool operator==(const PodCgroup&, const PodCgroup&) = default;
};

// Nothing: no pod's, or that of a process that merely looks after a container (conmon).
std::optional<PodCgroup> PodCgroupOfPath(std::string_view path);

// Of all lines; the first one that names a pod decides.
std::optional<PodCgroup> PodCgroupOfProcess(std::string_view proc_cgroup);

// The path of the cgroup v2 line, or empty. Relative ("/../x") where the process is outside the
// reader's cgroup namespace.
std::string_view UnifiedCgroupPath(std::string_view proc_cgroup);

}  // namespace phantomd
