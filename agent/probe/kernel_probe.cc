#include "agent/probe/kernel_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "agent/base/check.h"
#include "agent/probe/map_failure.h"
#include "agent/probe/probe_hooks.h"
#include "agent/probe/socket_walk.h"
#include "bpf/connect.skel.h"

namespace phantomd {
void KernelProbe::Closer::operator()(connect_bpf* bpf) const { connect_bpf::destroy(bpf); }
void KernelProbe::Closer::operator()(agent_state* state) const {
  munmap(state, sizeof(agent_state));
}
KernelProbe::Counters::~Counters() {
  if (values != nullptr) {
    munmap(const_cast<connect_counters*>(values), count * sizeof(connect_counters));
  }
}

KernelProbe::~KernelProbe() {
  if (records_ != nullptr && processes_ != nullptr && state_ != nullptr) ReleaseTaken();
  if (wake_fd_ >= 0) close(wake_fd_);
}

absl::Status KernelProbe::Watch(uint64_t netns_cookie) {
  const watch_entry entry{};
  if (bpf_map_update_elem(bpf_map__fd(bpf_->maps.watched), &netns_cookie, &entry, BPF_ANY) != 0) {
    return MapFailure("watch a network namespace", errno);
  }
  return absl::OkStatus();
}

absl::Status KernelProbe::WatchCgroup(uint64_t netns_cookie, uint64_t cgroup_id) {
  const cgroup_key key{netns_cookie, cgroup_id};
  const __u8 one = 1;
  if (bpf_map_update_elem(bpf_map__fd(bpf_->maps.watched_cgroups), &key, &one, BPF_ANY) != 0) {
    return MapFailure("watch a cgroup", errno);
  }
  const watch_entry entry{WATCH_BY_CGROUP};
  if (bpf_map_update_elem(bpf_map__fd(bpf_->maps.watched), &netns_cookie, &entry, BPF_NOEXIST) !=
          0 &&
      errno != EEXIST) {
    return MapFailure("watch a network namespace", errno);
  }
  return absl::OkStatus();
}

absl::Status KernelProbe::Unwatch(uint64_t netns_cookie) {
  if (bpf_map_delete_elem(bpf_map__fd(bpf_->maps.watched), &netns_cookie) != 0 && errno != ENOENT) {
    return MapFailure("forget a network namespace", errno);
  }
  return absl::OkStatus();
}

absl::Status KernelProbe::UnwatchCgroup(uint64_t netns_cookie, uint64_t cgroup_id) {
  const cgroup_key key{netns_cookie, cgroup_id};
  if (bpf_map_delete_elem(bpf_map__fd(bpf_->maps.watched_cgroups), &key) != 0 && errno != ENOENT) {
    return MapFailure("forget a cgroup", errno);
  }
  return absl::OkStatus();
}

std::vector<uint64_t> KernelProbe::Watched() const {
  std::vector<uint64_t> out;
  const int fd = bpf_map__fd(bpf_->maps.watched);
  uint64_t key = 0;
  for (int error = bpf_map_get_next_key(fd, nullptr, &key); error == 0;) {
    out.push_back(key);
    error = bpf_map_get_next_key(fd, &key, &key);
  }
  return out;
}

bool KernelProbe::Watches(uint64_t netns_cookie, uint64_t cgroup_id) const {
  watch_entry entry{};
  if (cgroup_id == 0) {
    return bpf_map_lookup_elem(bpf_map__fd(bpf_->maps.watched), &netns_cookie, &entry) == 0;
  }
  const cgroup_key key{netns_cookie, cgroup_id};
  __u8 one = 0;
  return bpf_map_lookup_elem(bpf_map__fd(bpf_->maps.watched_cgroups), &key, &one) == 0;
}

absl::Status KernelProbe::ExpectProxy(const std::string& command) {
  process_name name{};
  command.copy(name.text, sizeof(name.text) - 1);
  const __u8 one = 1;
  if (bpf_map_update_elem(bpf_map__fd(bpf_->maps.proxy_names), &name, &one, BPF_ANY) != 0) {
    return MapFailure("expect a process by its name", errno);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<socket_record>> KernelProbe::AdoptConnections(
    const std::string& netns_path) const {
  if (bpf_program__fd(bpf_->progs.on_tcp_socket) < 0) {
    return absl::UnimplementedError("the kernel cannot walk sockets");
  }
  return WalkSockets(bpf_->progs.on_tcp_socket, netns_path);
}

FollowedProcesses KernelProbe::processes() const {
  return FollowedProcesses(bpf_map__fd(bpf_->maps.proxy_processes), bpf_->progs.on_open_file);
}

std::vector<ConnectRecord> KernelProbe::TakeConnects(size_t limit) {
  ReleaseTaken();
  std::vector<ConnectRecord> out;
  records_->Take(limit, [&](const void* data, size_t size) {
    const auto keep = [&](auto record) {
      PHANTOMD_CHECK(size >= sizeof(record));
      std::memcpy(&record, data, sizeof(record));
      ++taken_[record.kind];
      out.emplace_back(record);
    };
    switch (*static_cast<const __u8*>(data)) {
      case CONNECT_RECORD_ACCEPT:
        keep(accept_record());
        break;
      case CONNECT_RECORD_END:
        keep(end_record());
        break;
      default:
        keep(connect_record());
    }
  });
  return out;
}

std::vector<process_record> KernelProbe::TakeProcesses() {
  std::vector<process_record> out;
  processes_->Take(SIZE_MAX, [&](const void* data, size_t size) {
    process_record record;
    PHANTOMD_CHECK(size >= sizeof(record));
    std::memcpy(&record, data, sizeof(record));
    ++taken_[record.kind];
    out.push_back(record);
  });
  return out;
}

void KernelProbe::ReleaseTaken() {
  for (uint32_t kind = 0; kind < CONNECT_COUNTER_KINDS; ++kind) state_->read[kind] += taken_[kind];
  records_->Release();
  processes_->Release();
  taken_ = {};
}

KernelTotals KernelProbe::ReadTotals() const {
  KernelTotals out{};
  const auto read = [](const __u64& value) {
    return std::atomic_ref(const_cast<__u64&>(value)).load(std::memory_order_acquire);
  };
  for (size_t i = 0; i < counters_.count; ++i) {
    const connect_counters& counters = counters_.values[i];
    connect_counters& sum = out[i % CONNECT_COUNTER_KINDS];
    sum.submitted += read(counters.submitted);
    sum.lost += read(counters.lost);
    sum.storage_failed += read(counters.storage_failed);
    sum.unreadable += read(counters.unreadable);
    sum.unseen += read(counters.unseen);
    sum.unseen_for_ns = std::max<uint64_t>(sum.unseen_for_ns, read(counters.unseen_for_ns));
    sum.lost_at_ns = std::max<uint64_t>(sum.lost_at_ns, read(counters.lost_at_ns));
  }
  return out;
}

void KernelProbe::Settled(const KernelTotals& totals, uint64_t skipped_runs, BootTime at) {
  for (uint32_t kind = 0; kind < CONNECT_COUNTER_KINDS; ++kind) {
    state_->lost[kind] = LostOf(totals[kind]);
  }
  // What was inherited is of programs that are gone.
  state_->skipped_runs = skipped_runs - std::min(skipped_runs, inherited_skips_);
  state_->settled_ns = static_cast<uint64_t>(at.nanos());
}

KernelTotals KernelProbe::SettledBefore() const {
  KernelTotals out{};
  for (uint32_t kind = 0; kind < CONNECT_COUNTER_KINDS; ++kind) {
    out[kind].submitted = predecessor_.read[kind];
    out[kind].lost = predecessor_.lost[kind];
  }
  return out;
}

uint64_t KernelProbe::ReadSkippedRuns() const {
  uint64_t out = inherited_skips_;
  for (const Hook& hook : HooksOf(bpf_.get())) {
    const int fd = bpf_program__fd(hook.program);
    if (fd < 0 || hook.skippable) continue;
    out += SkippedRunsOf(fd);
  }
  return out;
}

}  // namespace phantomd
