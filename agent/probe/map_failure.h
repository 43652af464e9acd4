// MapFailure: the status of a kernel object that could not be made, mapped or changed.
//
// Example: MapFailure("watch a cgroup", E2BIG) is ResourceExhausted, "cannot watch a cgroup: the
// kernel's map is full".
//
// Thread-safe; holds nothing.
#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/status/status.h"

namespace phantomd {

// `error`: a negative or positive errno.
inline absl::Status MapFailure(const char* what, int error) {
  const int number = std::abs(error);
  return absl::ResourceExhaustedError(fmt::format(
      "cannot {}: {}", what, number == E2BIG ? "the kernel's map is full" : std::strerror(number)));
}

}  // namespace phantomd
