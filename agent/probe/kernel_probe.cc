#include "agent/probe/kernel_probe.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <utility>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/probe/io_uring_tracepoint.h"
#include "agent/probe/socket_walk.h"
#include "agent/probe/tracepoint.h"
#include "bpf/connect.skel.h"

namespace phantomd {
namespace {

// The last complaint of libbpf on this thread, to be quoted in the sentence that we make of it.
thread_local std::string last_complaint;

int KeepComplaint(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  std::string text = line;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  // libbpf explains every EPERM by the memory limit, which has not been the reason since 5.11.
  if (text.find("ulimit") == std::string::npos && !text.empty()) last_complaint = text;
  return 0;
}

std::string Reason(int error) {
  const std::string name = std::strerror(error < 0 ? -error : error);
  if (last_complaint.empty()) return name;
  return fmt::format("{} ({})", name, last_complaint);
}

struct Hook {
  const char* name;  // of the tracepoint
  bpf_program* program;
  bpf_link** link;
  const char* without;  // what is not seen without it; null: the agent cannot do without
};

constexpr char kWithoutIoUring[] =
    "connects through an io_uring that fail before any SYN are not recorded";

std::vector<Hook> HooksOf(connect_bpf* bpf) {
  return {
      {"inet_sock_set_state", bpf->progs.on_set_state, &bpf->links.on_set_state, nullptr},
      {"inet_sk_error_report", bpf->progs.on_error_report, &bpf->links.on_error_report, nullptr},
      {"tcp_receive_reset", bpf->progs.on_receive_reset, &bpf->links.on_receive_reset, nullptr},
      {"tcp_retransmit_skb", bpf->progs.on_retransmit, &bpf->links.on_retransmit,
       "established connections whose peer has fallen silent are told only when they end"},
      {"sys_exit_connect", bpf->progs.on_connect_return, &bpf->links.on_connect_return,
       "connects that fail before any SYN (no route) are not recorded"},
      {"io_uring_complete", bpf->progs.on_io_uring_complete, &bpf->links.on_io_uring_complete,
       kWithoutIoUring},
      {"sched_process_exec", bpf->progs.on_exec, &bpf->links.on_exec,
       "new proxies are found by scanning /proc only, and their first connects are missed"},
      {"sched_process_exit", bpf->progs.on_exit, &bpf->links.on_exit,
       "the end of a proxy is noticed by scanning /proc only"},
  };
}

absl::StatusOr<bpf_link*> Attach(const Hook& hook) {
  last_complaint.clear();
  bpf_link* link = nullptr;
  if (bpf_program__type(hook.program) == BPF_PROG_TYPE_TRACEPOINT) {
    absl::StatusOr<int> event = OpenTracepoint("syscalls", hook.name);
    if (!event.ok()) return event.status();
    link = bpf_program__attach_perf_event(hook.program, *event);  // owns the event from here
    if (link == nullptr) close(*event);
  } else {
    link = bpf_program__attach(hook.program);
  }
  if (link == nullptr) return absl::FailedPreconditionError(Reason(errno));
  return link;
}

bool KernelIsTooOld(const std::string& release) {
  int major = 0;
  int minor = 0;
  if (std::sscanf(release.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return major < 5 || (major == 5 && minor < 15);
}

std::string KernelRelease() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "unknown";
}

absl::Status MapFailure(const char* what, int error) {
  return absl::ResourceExhaustedError(fmt::format("cannot {}: {}", what, std::strerror(error)));
}

}  // namespace

void KernelProbe::Closer::operator()(connect_bpf* bpf) const { connect_bpf::destroy(bpf); }
void KernelProbe::Closer::operator()(ring_buffer* ring) const { ring_buffer__free(ring); }

absl::StatusOr<KernelProbe::Skeleton> KernelProbe::OpenAndLoad(const KernelProbeOptions& options,
                                                               bool optional) {
  bpf_object_open_opts open_options{};
  open_options.sz = sizeof(open_options);
  open_options.btf_custom_path = options.btf_path.c_str();
  last_complaint.clear();
  Skeleton bpf(connect_bpf::open(&open_options));
  if (bpf == nullptr) {
    return absl::InternalError(fmt::format("cannot open the BPF object: {}", Reason(errno)));
  }
  bpf->rodata->host_netns_cookie = options.host_netns_cookie;
  bpf->rodata->record_closes = options.record_closes;
  if (const int error = bpf_map__set_max_entries(bpf->maps.records, options.ring_bytes)) {
    return absl::InvalidArgumentError(
        fmt::format("ring size of {} bytes: {}", options.ring_bytes, Reason(error)));
  }
  bpf->rodata->wakeup_bytes = bpf_map__max_entries(bpf->maps.records) / 8;
  for (const Hook& hook : HooksOf(bpf.get())) {
    if (hook.without != nullptr) bpf_program__set_autoload(hook.program, optional);
  }
  bpf_program__set_autoload(bpf->progs.on_open_file, optional);
  bpf_program__set_autoload(bpf->progs.on_tcp_socket, optional);
  if (!options.watch_new_proxies) bpf_program__set_autoload(bpf->progs.on_exec, false);
  const IoUringTracepoint io_uring = ReadIoUringTracepoint(options.btf_path);
  bpf->rodata->io_uring_tells_entry = io_uring == IoUringTracepoint::kEntry;
  if (io_uring == IoUringTracepoint::kNone || io_uring == IoUringTracepoint::kBlind) {
    bpf_program__set_autoload(bpf->progs.on_io_uring_complete, false);
  }
  if (const int error = connect_bpf::load(bpf.get())) {
    if (error == -EPERM || error == -EACCES) {
      return absl::PermissionDeniedError(
          fmt::format("the kernel refuses the BPF programs (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN "
                      "are needed, or root): {}",
                      Reason(error)));
    }
    return absl::FailedPreconditionError(
        fmt::format("kernel {} cannot load the BPF programs: {}", KernelRelease(), Reason(error)));
  }
  return bpf;
}

absl::Status KernelProbe::CheckSystem(const KernelProbeOptions& options) {
  if (KernelIsTooOld(KernelRelease())) {
    return absl::FailedPreconditionError(
        fmt::format("kernel {} is too old: 5.15 or later is needed", KernelRelease()));
  }
  if (access(options.btf_path.c_str(), R_OK) != 0) {
    return absl::FailedPreconditionError(
        fmt::format("no kernel type information at {} ({}): a kernel built with "
                    "CONFIG_DEBUG_INFO_BTF is needed",
                    options.btf_path, std::strerror(errno)));
  }
  if (geteuid() != 0) {
    return absl::PermissionDeniedError(
        fmt::format("recording connects needs root; this is user {}", geteuid()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<KernelProbe>> KernelProbe::Load(const KernelProbeOptions& options) {
  libbpf_set_print(KeepComplaint);
  if (absl::Status status = CheckSystem(options); !status.ok()) return status;
  std::unique_ptr<KernelProbe> probe(new KernelProbe);
  absl::StatusOr<Skeleton> all = OpenAndLoad(options, /*optional=*/true);
  if (!all.ok()) {
    absl::StatusOr<Skeleton> least = OpenAndLoad(options, /*optional=*/false);
    if (!least.ok()) return least.status();
    probe->limitations_.push_back(
        fmt::format("optional hooks cannot be loaded: {}", FromAbsl(all.status().message())));
    all = std::move(least);
  }
  if (ReadIoUringTracepoint(options.btf_path) == IoUringTracepoint::kBlind) {
    probe->limitations_.push_back(
        fmt::format("this kernel does not tell which io_uring request ended: {}", kWithoutIoUring));
  }
  probe->bpf_ = *std::move(all);
  // The rings come first: what is recorded from the first instant on is then read.
  if (absl::Status status = probe->OpenRings(); !status.ok()) return status;
  if (absl::Status status = probe->AttachAll(); !status.ok()) return status;
  return probe;
}

absl::Status KernelProbe::AttachAll() {
  for (const Hook& hook : HooksOf(bpf_.get())) {
    if (bpf_program__fd(hook.program) < 0) continue;  // left out, which was said when loading
    absl::StatusOr<bpf_link*> link = Attach(hook);
    if (link.ok()) {
      *hook.link = *link;
      continue;
    }
    if (hook.without == nullptr) {
      return absl::FailedPreconditionError(fmt::format("kernel {} has no usable hook {}: {}",
                                                       KernelRelease(), hook.name,
                                                       FromAbsl(link.status().message())));
    }
    limitations_.push_back(fmt::format("no hook {} ({}): {}", hook.name,
                                       FromAbsl(link.status().message()), hook.without));
  }
  return absl::OkStatus();
}

absl::Status KernelProbe::OpenRings() {
  records_.reset(ring_buffer__new(bpf_map__fd(bpf_->maps.records), OnConnect, this, nullptr));
  if (records_ == nullptr) return MapFailure("open the ring of connects", errno);
  processes_.reset(ring_buffer__new(bpf_map__fd(bpf_->maps.processes), OnProcess, this, nullptr));
  if (processes_ == nullptr) return MapFailure("open the ring of processes", errno);
  wake_fd_ = epoll_create1(EPOLL_CLOEXEC);
  if (wake_fd_ < 0) return MapFailure("create an epoll descriptor", errno);
  for (const bpf_map* map : {bpf_->maps.records, bpf_->maps.processes}) {
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(wake_fd_, EPOLL_CTL_ADD, bpf_map__fd(map), &event) != 0) {
      return MapFailure("wait for a ring", errno);
    }
  }
  return absl::OkStatus();
}

KernelProbe::~KernelProbe() {
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

// A name for which there is no room left is found by scans, as it was before.
void KernelProbe::ExpectProxy(const std::string& command) {
  process_name name{};
  command.copy(name.text, sizeof(name.text) - 1);
  const __u8 one = 1;
  bpf_map_update_elem(bpf_map__fd(bpf_->maps.proxy_names), &name, &one, BPF_ANY);
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

// A negative result ends the walk; libbpf has consumed the record by then.
int KernelProbe::OnConnect(void* context, void* data, size_t size) {
  auto* self = static_cast<KernelProbe*>(context);
  const auto keep = [&](auto record) {
    PHANTOMD_CHECK(size >= sizeof(record));
    std::memcpy(&record, data, sizeof(record));
    self->taken_connects_.emplace_back(record);
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
  return self->taken_connects_.size() < self->limit_ ? 0 : -ENOSPC;
}

int KernelProbe::OnProcess(void* context, void* data, size_t size) {
  auto* self = static_cast<KernelProbe*>(context);
  PHANTOMD_CHECK(size >= sizeof(process_record));
  process_record record;
  std::memcpy(&record, data, sizeof(record));
  self->taken_processes_.push_back(record);
  return 0;
}

std::vector<ConnectRecord> KernelProbe::TakeConnects(size_t limit) {
  limit_ = limit;
  ring_buffer__consume(records_.get());
  return std::exchange(taken_connects_, {});
}

std::vector<process_record> KernelProbe::TakeProcesses() {
  ring_buffer__consume(processes_.get());
  return std::exchange(taken_processes_, {});
}

KernelTotals KernelProbe::ReadTotals() const {
  KernelTotals out{};
  // The lookup writes one value for each possible CPU, each as long as the object says.
  const int cpus = libbpf_num_possible_cpus();
  PHANTOMD_CHECK(cpus > 0);
  PHANTOMD_CHECK(bpf_map__value_size(bpf_->maps.counters) == sizeof(connect_counters));
  std::vector<connect_counters> per_cpu(cpus);
  for (uint32_t kind = 0; kind < CONNECT_COUNTER_KINDS; ++kind) {
    const int error = bpf_map_lookup_elem(bpf_map__fd(bpf_->maps.counters), &kind, per_cpu.data());
    PHANTOMD_CHECK(error == 0);  // every index of an array map exists
    for (const connect_counters& counters : per_cpu) {
      out[kind].submitted += counters.submitted;
      out[kind].lost += counters.lost;
      out[kind].storage_failed += counters.storage_failed;
      out[kind].unreadable += counters.unreadable;
      out[kind].lost_at_ns = std::max(out[kind].lost_at_ns, counters.lost_at_ns);
    }
  }
  return out;
}

uint64_t KernelProbe::ReadSkippedRuns() const {
  uint64_t out = 0;
  for (const Hook& hook : HooksOf(bpf_.get())) {
    const int fd = bpf_program__fd(hook.program);
    if (fd < 0) continue;
    bpf_prog_info info{};
    uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0) out += info.recursion_misses;
  }
  return out;
}

}  // namespace phantomd
