// Opens a kernel tracepoint as a perf event to which a BPF program can be attached.
//
// The tracepoint's number is in tracefs, which many hosts and most containers have not mounted. It
// is then mounted detached, without a place in the file system: nothing is left behind and nobody
// else sees it.
//
// Example: OpenTracepoint("syscalls", "sys_exit_connect").
//
// Thread-safe; holds nothing.
#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace phantomd {

// The descriptor of the perf event; the caller closes it.
absl::StatusOr<int> OpenTracepoint(const std::string& category, const std::string& name);

}  // namespace phantomd
