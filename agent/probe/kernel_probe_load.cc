// How a KernelProbe comes to life: loading in what the kernel accepts, attaching, and following an
// agent that has left its maps and programs in the kernel.
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <linux/membarrier.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <system_error>
#include <utility>

#include "agent/base/strings.h"
#include "agent/probe/kernel_probe.h"
#include "agent/probe/map_failure.h"
#include "agent/probe/probe_hooks.h"
#include "bpf/connect.skel.h"

namespace phantomd {
namespace {

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

// Programs run inside read-side critical sections of RCU, whose end this system call waits for.
void WaitForRunningPrograms() { syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0); }

// One more than the highest number of a processor: there may be gaps, as in "0-3,8-11".
absl::StatusOr<uint32_t> ProcessorNumbers() {
  constexpr char kPossible[] = "/sys/devices/system/cpu/possible";
  std::ifstream file(kPossible);
  std::string ranges;
  file >> ranges;
  const size_t last = ranges.find_last_of(",-");
  const std::string number = last == std::string::npos ? ranges : ranges.substr(last + 1);
  uint32_t highest = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), highest);
  if (error != std::errc() || end != number.data() + number.size()) {
    return absl::FailedPreconditionError(
        fmt::format("{}: no processors in '{}'", kPossible, ranges));
  }
  return highest + 1;
}

uint64_t SkippedRunsOfLink(int link) {
  bpf_link_info info{};
  uint32_t size = sizeof(info);
  if (link < 0 || bpf_obj_get_info_by_fd(link, &info, &size) != 0) return 0;
  const int program = bpf_prog_get_fd_by_id(info.prog_id);
  if (program < 0) return 0;
  const uint64_t out = SkippedRunsOf(program);
  close(program);
  return out;
}

}  // namespace

// `left_out`: names of programs, and why. What is refused now and may be left out is added to it.
absl::StatusOr<KernelProbe::Skeleton> KernelProbe::OpenAndLoad(
    const KernelProbeOptions& options, const PinDirectory* pins, IoUringTracepoint io_uring,
    std::map<std::string, std::string>* left_out) {
  bpf_object_open_opts open_options{};
  open_options.sz = sizeof(open_options);
  open_options.btf_custom_path = options.btf_path.c_str();
  ForgetComplaints();
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
  bpf_map__set_max_entries(bpf->maps.pods, options.pod_ring_bytes);
  const absl::StatusOr<uint32_t> processors = ProcessorNumbers();
  if (!processors.ok()) return processors.status();
  bpf_map__set_max_entries(bpf->maps.counters, CONNECT_COUNTER_KINDS * *processors);
  if (pins != nullptr) {
    if (absl::Status status = UsePins(*bpf, *pins); !status.ok()) return status;
  }
  bpf->rodata->wakeup_bytes = bpf_map__max_entries(bpf->maps.records) / 8;
  for (const OptionalProgram& optional : OptionalProgramsOf(bpf.get())) {
    const bool wanted = !left_out->contains(bpf_program__name(optional.program));
    bpf_program__set_autoload(optional.program, wanted);
  }
  if (!options.watch_new_proxies) bpf_program__set_autoload(bpf->progs.on_exec, false);
  bpf->rodata->io_uring_tells_entry = io_uring == IoUringTracepoint::kEntry;
  if (io_uring == IoUringTracepoint::kNone || io_uring == IoUringTracepoint::kBlind) {
    bpf_program__set_autoload(bpf->progs.on_io_uring_complete, false);
  }
  if (const int error = connect_bpf::load(bpf.get())) {
    // Where libbpf names no program, it may be any.
    const std::string refused = RefusedProgram();
    const std::string reason =
        refused.empty() ? Reason(error) : fmt::format("{}: {}", refused, std::strerror(-error));
    for (const OptionalProgram& optional : OptionalProgramsOf(bpf.get())) {
      const std::string name = bpf_program__name(optional.program);
      if (!refused.empty() && name != refused) continue;
      left_out->emplace(
          name, fmt::format("a program cannot be loaded ({}): {}", reason, optional.without));
    }
    if (error == -EPERM || error == -EACCES) {
      return absl::PermissionDeniedError(
          fmt::format("the kernel refuses the BPF programs (CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN "
                      "are needed, or root): {}",
                      reason));
    }
    return absl::FailedPreconditionError(
        fmt::format("kernel {} cannot load the BPF programs: {}", KernelRelease(), reason));
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
  KeepComplaints();
  if (absl::Status status = CheckSystem(options); !status.ok()) return status;
  std::unique_ptr<KernelProbe> probe(new KernelProbe);
  if (!options.pin_dir.empty()) {
    auto pins = PinDirectory::Open(options.pin_dir);
    if (!pins.ok()) return pins.status();
    probe->pins_ = *std::move(pins);
    probe->continues_ = probe->pins_->HasMap("records");
  }
  if (absl::Status status = probe->LoadWhatItCan(options); !status.ok()) return status;
  // The rings come first: what is recorded from the first instant on is then read.
  if (absl::Status status = probe->OpenRings(); !status.ok()) return status;
  if (absl::Status status = probe->MapState(); !status.ok()) return status;
  if (absl::Status status = probe->AttachAll(); !status.ok()) return status;
  if (absl::Status status = probe->TakeOver(); !status.ok()) return status;
  return probe;
}

absl::Status KernelProbe::LoadWhatItCan(const KernelProbeOptions& options) {
  const IoUringTracepoint io_uring = ReadIoUringTracepoint(options.btf_path);
  if (io_uring == IoUringTracepoint::kBlind) {
    limitations_.push_back(
        fmt::format("this kernel does not tell which io_uring request ended: {}", kWithoutIoUring));
  }
  // Loading stops at the first program that is refused: each round leaves out one more.
  std::map<std::string, std::string> left_out;
  for (size_t before = 0;; before = left_out.size()) {
    absl::StatusOr<Skeleton> loaded = OpenAndLoad(options, pins_.get(), io_uring, &left_out);
    if (!loaded.ok() && left_out.size() == before) return loaded.status();
    if (!loaded.ok()) continue;
    bpf_ = *std::move(loaded);
    break;
  }
  for (const auto& [program, effect] : left_out) limitations_.push_back(effect);
  return absl::OkStatus();
}

absl::Status KernelProbe::UsePins(connect_bpf& bpf, const PinDirectory& pins) {
  for (bpf_map* map :
       {bpf.maps.records, bpf.maps.processes, bpf.maps.watched, bpf.maps.watched_cgroups,
        bpf.maps.proxy_processes, bpf.maps.proxy_names, bpf.maps.unreturned, bpf.maps.counters,
        bpf.maps.agent_state, bpf.maps.claims, bpf.maps.attempts}) {
    const std::string path = pins.MapPath(bpf_map__name(map));
    if (const int error = bpf_map__set_pin_path(map, path.c_str())) {
      return MapFailure("name a pin", error);
    }
  }
  // The ring stays as large as the agent before made it.
  const int ring = bpf_obj_get(pins.MapPath("records").c_str());
  if (ring >= 0) {
    bpf_map_info info{};
    uint32_t size = sizeof(info);
    if (bpf_obj_get_info_by_fd(ring, &info, &size) == 0) {
      bpf_map__set_max_entries(bpf.maps.records, info.max_entries);
    }
    close(ring);
  }
  const int state_fd = bpf_obj_get(pins.MapPath("agent_state").c_str());
  if (state_fd >= 0) {
    const uint32_t zero = 0;
    agent_state state{};
    if (bpf_map_lookup_elem(state_fd, &zero, &state) == 0) {
      bpf.rodata->own_generation = state.generation + 1;
    }
    close(state_fd);
  }
  return absl::OkStatus();
}

// All programs are attached, those of an agent before us too. From the change of the generation on,
// ours alone record what leaves no trace in a socket.
absl::Status KernelProbe::TakeOver() {
  if (pins_ == nullptr) return absl::OkStatus();
  std::vector<std::string> pinned;
  for (const Hook& hook : HooksOf(bpf_.get())) {
    if (*hook.link == nullptr) continue;
    if (absl::Status status = pins_->PinBeside(*hook.link, hook.name); !status.ok()) return status;
    pinned.push_back(hook.name);
  }
  // The steps are those of the table in bpf/sync_failure.bpf.h.
  const std::atomic_ref handing_over(state_->handing_over);
  state_->next_generation = bpf_->rodata->own_generation;
  handing_over.store(1);
  WaitForRunningPrograms();
  std::atomic_ref(state_->generation).store(bpf_->rodata->own_generation);
  uint64_t skipped = 0;
  for (const Hook& hook : HooksOf(bpf_.get())) {
    const int link = hook.skippable ? -1 : pins_->OpenLink(hook.name);
    skipped += SkippedRunsOfLink(link);
    if (link >= 0) close(link);
  }
  if (skipped > state_->skipped_runs) inherited_skips_ = skipped - state_->skipped_runs;
  state_->skipped_runs = 0;
  WaitForRunningPrograms();
  handing_over.store(0);
  return pins_->Replace(pinned);
}

absl::Status KernelProbe::AttachAll() {
  for (const Hook& hook : HooksOf(bpf_.get())) {
    if (bpf_program__fd(hook.program) < 0) continue;  // left out, which was said when loading
    absl::StatusOr<bpf_link*> link = AttachHook(hook);
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

absl::Status KernelProbe::MapState() {
  void* state = mmap(nullptr, sizeof(agent_state), PROT_READ | PROT_WRITE, MAP_SHARED,
                     bpf_map__fd(bpf_->maps.agent_state), 0);
  if (state == MAP_FAILED) return MapFailure("map the agent's state", errno);
  state_.reset(static_cast<agent_state*>(state));
  predecessor_ = *state_;
  const size_t count = bpf_map__max_entries(bpf_->maps.counters);
  void* counters = mmap(nullptr, count * sizeof(connect_counters), PROT_READ, MAP_SHARED,
                        bpf_map__fd(bpf_->maps.counters), 0);
  if (counters == MAP_FAILED) return MapFailure("map the counters", errno);
  counters_.values = static_cast<const connect_counters*>(counters);
  counters_.count = count;
  return absl::OkStatus();
}

absl::Status KernelProbe::OpenRings() {
  for (auto [map, ring] :
       {std::pair{bpf_->maps.records, &records_}, std::pair{bpf_->maps.processes, &processes_}}) {
    auto reader = RingReader::Open(bpf_map__fd(map), bpf_map__max_entries(map));
    if (!reader.ok()) return reader.status();
    *ring = *std::move(reader);
  }
  if (bpf_program__fd(bpf_->progs.on_cgroup_populated) >= 0 &&
      bpf_program__fd(bpf_->progs.on_pod_exit) >= 0) {
    auto pods =
        PodRecords::Open(bpf_map__fd(bpf_->maps.pods), bpf_map__max_entries(bpf_->maps.pods),
                         bpf_map__fd(bpf_->maps.pod_links), bpf_->bss->pod_records_lost);
    if (!pods.ok()) return pods.status();
    pods_ = *std::move(pods);
  }
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

}  // namespace phantomd
