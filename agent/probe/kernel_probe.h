// KernelProbe: the loaded BPF programs, their maps and ring buffers. Raw records come out; what
// they mean is decided by its users.
//
// Whether a hook exists is found out by loading it, not by the kernel's version or build options:
// some kernels refuse what their configuration promises. A program that they refuse and that only
// widens the view is left out, it alone, and is a sentence in limitations(); any other failure is
// one clear sentence in the Status.
//
// Records are not announced one by one (a wake-up costs more than a connect): take them on a timer,
// at least four times a second. wake_fd() becomes readable earlier when a ring fills or a proxy's
// process begins or ends.
//
// Thread-compatible. Everything in the kernel goes away with the object, unless it is pinned: then
// the kernel goes on recording, and the next agent reads on where this one has stopped.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/probe/followed_processes.h"
#include "agent/probe/io_uring_tracepoint.h"
#include "agent/probe/kernel_time.h"
#include "agent/probe/kernel_totals.h"
#include "agent/probe/pin_directory.h"
#include "agent/probe/pod_records.h"
#include "agent/probe/ring_reader.h"
#include "agent/probe/socket_source.h"
#include "bpf/connect_event.h"

struct connect_bpf;

namespace phantomd {

struct KernelProbeOptions {
  uint32_t ring_bytes = 4 << 20;      // rounded up to pages and a power of two; a record takes 136
  uint32_t pod_ring_bytes = 1 << 20;  // likewise, of cgroups' records; 536 each
  uint64_t host_netns_cookie = 0;     // there only the proxies' cgroups are watched; 0: unknown
  bool watch_new_proxies = true;      // by the exec program; else only what Watch() names
  // Of ends by FIN, too, which strand nobody and of which proxies make many.
  bool record_closes = false;
  std::string btf_path = "/sys/kernel/btf/vmlinux";
  // Where maps and programs stay when the agent ends, for the next one; empty: they do not.
  std::string pin_dir;
};

using ConnectRecord = std::variant<connect_record, accept_record, end_record>;

class KernelProbe : public SocketSource {
 public:
  // Whether this kernel, its type information and this user will do; Load() asks it first.
  static absl::Status CheckSystem(const KernelProbeOptions& options);
  static absl::StatusOr<std::unique_ptr<KernelProbe>> Load(const KernelProbeOptions& options);
  ~KernelProbe() override;
  KernelProbe(const KernelProbe&) = delete;
  KernelProbe& operator=(const KernelProbe&) = delete;

  // Records every connect and accept of the namespace.
  absl::Status Watch(uint64_t netns_cookie);
  // Records the connects of tasks in this cgroup alone, where nothing watches the whole namespace.
  absl::Status WatchCgroup(uint64_t netns_cookie, uint64_t cgroup_id);
  absl::Status Unwatch(uint64_t netns_cookie);
  absl::Status UnwatchCgroup(uint64_t netns_cookie, uint64_t cgroup_id);
  // The namespaces watched now, those included that the exec program has added by itself.
  std::vector<uint64_t> Watched() const;
  bool Watches(uint64_t netns_cookie, uint64_t cgroup_id) const override;

  // From now on a process of this name is taken for a proxy at its exec, until user space has
  // looked. ResourceExhausted: there is no room for another name.
  absl::Status ExpectProxy(const std::string& command);
  absl::StatusOr<std::vector<socket_record>> AdoptConnections(
      const std::string& netns_path) const override;

  // The proxies' processes, as the kernel follows them.
  FollowedProcesses processes() const;
  absl::StatusOr<std::vector<socket_place>> SocketsOf(uint32_t process_id) const override {
    return processes().SocketsOf(process_id);
  }

  // At most `limit` records in the order in which the kernel made them; fewer than `limit`: the
  // ring was empty. What was taken before is released first: until then it is still in the ring,
  // where an agent that follows after a crash takes it again.
  std::vector<ConnectRecord> TakeConnects(size_t limit);
  std::vector<process_record> TakeProcesses();
  void ReleaseTaken();
  PodRecords* pods() { return pods_.get(); }  // null: the kernel refuses its programs

  // Whether the programs of an agent before this one have recorded up to now.
  bool continues() const { return continues_; }
  // What agents before this one had read (as `submitted`) and had told as lost, and when they last
  // did; nothing, and unset, without any.
  KernelTotals SettledBefore() const;
  BootTime SettledBeforeAt() const { return FromKernel(predecessor_.settled_ns); }
  // Leaves to the next agent that these losses, and those of the skipped runs, have been told.
  void Settled(const KernelTotals& totals, uint64_t skipped_runs, BootTime at);

  KernelTotals ReadTotals() const;
  // How often the kernel did not run a program, because it was already running on that CPU, and
  // nothing else stood in for it. Each may have hidden a record.
  uint64_t ReadSkippedRuns() const;
  int wake_fd() const { return wake_fd_; }
  const std::vector<std::string>& limitations() const { return limitations_; }

 private:
  struct Closer {
    void operator()(connect_bpf* bpf) const;
    void operator()(agent_state* state) const;
  };
  // Of all processors, mapped.
  struct Counters {
    ~Counters();
    const connect_counters* values = nullptr;
    size_t count = 0;
  };
  using Skeleton = std::unique_ptr<connect_bpf, Closer>;

  KernelProbe() = default;
  static absl::StatusOr<Skeleton> OpenAndLoad(const KernelProbeOptions& options,
                                              const PinDirectory* pins, IoUringTracepoint io_uring,
                                              std::map<std::string, std::string>* left_out);
  // Leaves out what the kernel refuses, as far as it is optional.
  absl::Status LoadWhatItCan(const KernelProbeOptions& options);
  static absl::Status UsePins(connect_bpf& bpf, const PinDirectory& pins);
  absl::Status OpenRings();
  absl::Status MapState();
  absl::Status AttachAll();
  absl::Status TakeOver();

  std::unique_ptr<PinDirectory> pins_;  // null: nothing stays
  bool continues_ = false;
  agent_state predecessor_{};
  uint64_t inherited_skips_ = 0;
  Skeleton bpf_;
  std::unique_ptr<agent_state, Closer> state_;  // mapped
  Counters counters_;
  std::unique_ptr<RingReader> records_;
  std::unique_ptr<RingReader> processes_;
  std::unique_ptr<PodRecords> pods_;
  std::array<uint64_t, CONNECT_COUNTER_KINDS> taken_{};  // since the last release
  int wake_fd_ = -1;
  std::vector<std::string> limitations_;
};

}  // namespace phantomd
