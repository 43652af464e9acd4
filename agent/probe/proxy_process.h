// ProxyProcesses: which processes of this node belong to which proxy, and which did until a moment
// ago.
//
// Keyed by process ID and start time, because process IDs are used again. A process that has ended
// is remembered for a while: its last records are still on their way when its end is known.
//
// Start times from /proc are rounded down to a clock tick of kStartGrain, those from the kernel are
// exact: a rounded one is the same start as any within a tick of it, two exact ones must be equal.
//
// A process may have sockets in namespaces other than its own, as ztunnel does: `elsewhere`.
//
// Example: Add({pid 7, start 100.00 s}), a record of {7, 100.004 s} finds it; End(7, ..., at 200 s)
// and Forget(before 200 s) keep it, Forget(before 201 s) does not; a record of {7, 150 s} never
// finds it.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"

namespace phantomd {

struct ProxyProcess {
  enum class Kind {
    kEnvoy = 0,
    kZtunnel = 1,
    kAgent = 2,  // pilot-agent: starts Envoy, speaks for it, forwards nothing
  };
  Kind kind = Kind::kEnvoy;
  ProxyId proxy_id;  // empty for kAgent
  uint32_t process_id = 0;
  BootTime start;
  uint64_t netns_cookie = 0;
  uint64_t cgroup_id = 0;  // 0: unknown
  uint32_t uid = 0;        // of the sockets that it makes
  // Namespaces other than its own in which it has sockets, and when that was last known.
  std::map<uint64_t, BootTime> elsewhere;

  friend bool operator==(const ProxyProcess&, const ProxyProcess&) = default;
};

class ProxyProcesses {
 public:
  static constexpr Nanos kStartGrain = std::chrono::milliseconds(10);

  static bool SameStart(BootTime a, BootTime b);
  static BootTime Rounded(BootTime start) {
    return BootTime::FromNanos(start.nanos() / kStartGrain.count() * kStartGrain.count());
  }

  // Replaces what was known of the same process, except for where it has sockets.
  void Add(const ProxyProcess& process);
  // It has a socket in that namespace at `at`. Nothing is remembered of its own, or of strangers.
  void FoundIn(uint32_t process_id, BootTime start, uint64_t netns_cookie, BootTime at);
  void End(uint32_t process_id, BootTime start, BootTime at);
  void Forget(BootTime ended_before);
  // A namespace where it was not found again since `found_before` is no more one of its.
  void ForgetElsewhere(BootTime found_before);

  // Null: not a proxy's.
  const ProxyProcess* Find(uint32_t process_id, BootTime start) const;
  // Living and remembered; at home there or elsewhere.
  std::vector<const ProxyProcess*> InNamespace(uint64_t netns_cookie) const;
  std::vector<const ProxyProcess*> Living() const;

 private:
  struct Entry {
    ProxyProcess process;
    BootTime ended;  // unset: lives
  };
  Entry* FindEntry(uint32_t process_id, BootTime start);

  std::multimap<uint32_t, Entry> by_pid_;
};

}  // namespace phantomd
