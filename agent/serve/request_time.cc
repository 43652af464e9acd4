#include "agent/serve/request_time.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <cstdint>
#include <limits>

namespace phantomd {

absl::StatusOr<BootTime> RequestTime(const char* field, const google::protobuf::Timestamp& time,
                                     WallOffset offset) {
  using google::protobuf::util::TimeUtil;
  // The years 1 to 9999, as the message's own definition demands.
  if (time.seconds() < TimeUtil::kTimestampMinSeconds ||
      time.seconds() > TimeUtil::kTimestampMaxSeconds || time.nanos() < 0 ||
      time.nanos() >= 1'000'000'000) {
    return absl::InvalidArgumentError(fmt::format("{}: not a valid time", field));
  }
  constexpr int64_t kMaxSeconds = std::numeric_limits<int64_t>::max() / 1'000'000'000 - 1;
  if (time.seconds() > kMaxSeconds) return BootTime::Max();
  if (time.seconds() < -kMaxSeconds) return BootTime::Min();
  return offset.ToBoot(WallTime::FromNanos(TimeUtil::TimestampToNanoseconds(time)));
}

}  // namespace phantomd
