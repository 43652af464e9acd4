// What the running kernel tells at the end of an io_uring request.
//
// The tracepoint io_uring_complete changed its arguments twice; which ones it has is read from the
// kernel's type information, since a version number tells nothing about what was backported.
//
// Example: ReadIoUringTracepoint("/sys/kernel/btf/vmlinux") is kResult on Linux 6.1.
//
// Thread-safe; holds nothing. Reads the file at each call.
#pragma once

#include <string>

namespace phantomd {

enum class IoUringTracepoint {
  kNone,    // a kernel without io_uring: nothing to see
  kBlind,   // does not tell which request ended (before 5.19)
  kResult,  // the request and its result
  kEntry,   // the request and the completion queue's entry (since 6.16)
};

// kBlind, too, where the type information cannot be read.
IoUringTracepoint ReadIoUringTracepoint(const std::string& btf_path);

}  // namespace phantomd
