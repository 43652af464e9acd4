// The instant that a request names, on the clock of the core.
//
// Pure function.
#pragma once

#include <google/protobuf/timestamp.pb.h>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"

namespace phantomd {

// An invalid time is INVALID_ARGUMENT and names `field`. What 64 bits of nanoseconds cannot hold
// (after the year 2262) is as good as never.
absl::StatusOr<BootTime> RequestTime(const char* field, const google::protobuf::Timestamp& time,
                                     WallOffset offset);

}  // namespace phantomd
