// The hooks of the BPF programs: where each attaches, and what is not seen without it.
//
// libbpf says the reason for a failure in its log alone: KeepComplaints() collects it, Reason()
// quotes it, RefusedProgram() says about which program it is.
//
// Example: the kernel refuses on_exit at load. RefusedProgram() is "on_exit", which is optional: it
// is left out, and its `without` told.
//
// Thread-compatible: complaints are kept for each thread apart.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

struct bpf_link;
struct bpf_program;
struct connect_bpf;

namespace phantomd {

struct Hook {
  const char* name;  // of its pin; of the tracepoint, where that is one of a system call
  bpf_program* program;
  bpf_link** link;
  const char* without;  // what is not seen without it; null: the agent cannot do without
  // A run that the kernel skips loses no record: what it would have done another program does, or
  // the next event, or it was only to count what had been lost already.
  bool skippable = false;
};

std::vector<Hook> HooksOf(connect_bpf* bpf);

// A program that the kernel may refuse, and what is not seen then: of the hooks above, and of those
// that are not attached but run when asked.
struct OptionalProgram {
  bpf_program* program;
  const char* without;
};
std::vector<OptionalProgram> OptionalProgramsOf(connect_bpf* bpf);

// The caller destroys the link, or gives it to the skeleton.
absl::StatusOr<bpf_link*> AttachHook(const Hook& hook);

// How often the kernel did not run a program because it was already running on that CPU.
uint64_t SkippedRunsOf(int program_fd);

// libbpf's complaints go to the calling thread's Reason() instead of standard error.
void KeepComplaints();
void ForgetComplaints();
// Of a negative or positive errno.
std::string Reason(int error);
// The last program whose loading failed, of all complaints since ForgetComplaints(); empty: none is
// named.
std::string RefusedProgram();

inline constexpr char kWithoutIoUring[] =
    "connects through an io_uring that fail before any SYN are not recorded";
inline constexpr char kWithoutPodEnds[] =
    "the ends of this node's pods are known by what the API tells of them only";

}  // namespace phantomd
