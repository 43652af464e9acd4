// A cgroup v2 file system of one's own, mounted nowhere: it goes with its descriptor, and what the
// host has mounted does not matter.
#pragma once

#include <sys/mount.h>

#include "agent/base/check.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {

inline Fd DetachedCgroup2() {
  const Fd context(fsopen("cgroup2", FSOPEN_CLOEXEC));
  PHANTOMD_CHECK(context.get() >= 0);
  PHANTOMD_CHECK(fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) == 0);
  Fd mount(fsmount(context.get(), FSMOUNT_CLOEXEC, 0));
  PHANTOMD_CHECK(mount.get() >= 0);
  return mount;
}

}  // namespace phantomd
