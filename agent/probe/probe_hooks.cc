#include "agent/probe/probe_hooks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "agent/probe/tracepoint.h"
#include "bpf/connect.skel.h"

namespace phantomd {
namespace {

// The last complaint of libbpf on this thread, to be quoted in the sentence that we make of it.
thread_local std::string last_complaint;
thread_local std::string refused_program;

// Libbpf names a program that it cannot load as "libbpf: prog 'NAME': ...".
void KeepProgram(std::string_view complaint) {
  constexpr std::string_view kProgram = "libbpf: prog '";
  if (!complaint.starts_with(kProgram)) return;
  complaint.remove_prefix(kProgram.size());
  refused_program = complaint.substr(0, complaint.find('\''));
}

int KeepComplaint(libbpf_print_level level, const char* format, va_list arguments) {
  if (level != LIBBPF_WARN) return 0;
  char line[512];
  std::vsnprintf(line, sizeof(line), format, arguments);
  std::string text = line;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  KeepProgram(text);
  // libbpf explains every EPERM by the memory limit, which has not been the reason since 5.11.
  if (text.find("ulimit") == std::string::npos && !text.empty()) last_complaint = text;
  return 0;
}

}  // namespace

void KeepComplaints() { libbpf_set_print(KeepComplaint); }
void ForgetComplaints() {
  last_complaint.clear();
  refused_program.clear();
}
std::string RefusedProgram() { return refused_program; }

std::string Reason(int error) {
  const std::string name = std::strerror(error < 0 ? -error : error);
  if (last_complaint.empty()) return name;
  return fmt::format("{} ({})", name, last_complaint);
}

std::vector<Hook> HooksOf(connect_bpf* bpf) {
  const auto& p = bpf->progs;
  auto& l = bpf->links;
  return {
      {"inet_sock_set_state", p.on_set_state, &l.on_set_state, nullptr, true},
      {"inet_sock_set_state_again", p.on_set_state_again, &l.on_set_state_again, nullptr, true},
      {"inet_sk_error_report", p.on_error_report, &l.on_error_report, nullptr, true},
      {"inet_sk_error_report_again", p.on_error_report_again, &l.on_error_report_again, nullptr,
       true},
      {"tcp_receive_reset", p.on_receive_reset, &l.on_receive_reset, nullptr, true},
      {"tcp_receive_reset_again", p.on_receive_reset_again, &l.on_receive_reset_again, nullptr,
       true},
      {"tcp_retransmit_skb", p.on_retransmit, &l.on_retransmit,
       "established connections whose peer has fallen silent are told only when they end", true},
      {"tcp_destroy_sock", p.on_destroy, &l.on_destroy,
       "outcomes and ends that the kernel ran no program for are not counted as lost", true},
      {"sys_exit_connect", p.on_connect_return, &l.on_connect_return,
       "connects that fail before any SYN (no route) are not recorded"},
      {"io_uring_complete", p.on_io_uring_complete, &l.on_io_uring_complete, kWithoutIoUring},
      {"sched_process_exec", p.on_exec, &l.on_exec,
       "new proxies are found by scanning /proc only, and their first connects are missed"},
      {"sched_process_exit", p.on_exit, &l.on_exit,
       "the end of a proxy is noticed by scanning /proc only"},
      // These record no connect, and of what they record user space knows itself what is missing.
      {"cgroup_notify_populated", p.on_cgroup_populated, &l.on_cgroup_populated, kWithoutPodEnds,
       true},
      {"sched_process_exit_pod", p.on_pod_exit, &l.on_pod_exit, kWithoutPodEnds, true},
  };
}

std::vector<OptionalProgram> OptionalProgramsOf(connect_bpf* bpf) {
  std::vector<OptionalProgram> out = {
      {bpf->progs.on_open_file,
       "which sockets a proxy's process has made already is not known: namespaces in which ztunnel "
       "has some are watched when it makes another there, and connections that a proxy had before "
       "the agent are not told from others of its user"},
      {bpf->progs.on_tcp_socket,
       "connections that existed before the agent are not followed to their ends"},
  };
  for (const Hook& hook : HooksOf(bpf)) {
    if (hook.without != nullptr) out.push_back({hook.program, hook.without});
  }
  return out;
}

absl::StatusOr<bpf_link*> AttachHook(const Hook& hook) {
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

uint64_t SkippedRunsOf(int program_fd) {
  bpf_prog_info info{};
  uint32_t size = sizeof(info);
  return bpf_obj_get_info_by_fd(program_fd, &info, &size) == 0 ? info.recursion_misses : 0;
}

}  // namespace phantomd
