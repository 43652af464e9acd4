// Times as the Kubernetes API writes them: RFC 3339, "2026-11-29T18:59:03Z", with or without a
// fraction (metav1.Time has none, metav1.MicroTime has six digits) and with any offset; and in
// protobuf.
//
// Pure.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"

namespace phantomd {

// Digits beyond the nanosecond are cut off. Years outside 1678..2261 do not fit a WallTime and are
// an error; 1970-01-01T00:00:00Z, which some container runtimes write for "unknown", is the unset
// WallTime.
absl::StatusOr<WallTime> ParseRfc3339(std::string_view text);

// The same times as seconds since 1970 (metav1.Time in protobuf): the same years.
absl::StatusOr<WallTime> WallTimeOfSeconds(int64_t seconds);

}  // namespace phantomd
