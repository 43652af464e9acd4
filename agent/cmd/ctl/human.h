// Times, durations and counts as people read and write them.
//
// Times are local (TZ) with milliseconds: 2026-11-29T18:59:03.001. Durations have three significant
// digits: 3.02s, 25ms, 2m03s.
//
// Pure but for the time zone of the process.
#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/repeated_ptr_field.h>
#include <google/protobuf/timestamp.pb.h>

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "phantom/v1/types.pb.h"

namespace phantomd {

std::string HumanDuration(const google::protobuf::Duration& duration);

std::string HumanTime(const google::protobuf::Timestamp& time);          // 2026-11-29T18:59:03.001
std::string HumanTimeWithZone(const google::protobuf::Timestamp& time);  // ...03.001+01:00
std::string HumanDate(const google::protobuf::Timestamp& time);          // 2026-11-29

// Only the time of day where that is unambiguous beside `date`: 18:59:03.001.
std::string HumanTimeOn(const std::string& date, const google::protobuf::Timestamp& time);

// "7 DEAD, 2 REUSED", the largest first; "none" when empty.
// "7", or ">=7" where more may have happened than was counted.
std::string HumanCount(uint64_t count, bool lower_bound);
std::string HumanCounts(const google::protobuf::RepeatedPtrField<phantom::v1::Count>& counts);

// "1 pod", "2 pods".
std::string Plural(uint64_t count, std::string_view noun);

// What --at takes: 2026-11-29T18:59:03.001 with Z, an offset, or local; 18:59:03 today. `now` tells
// which day that is.
absl::StatusOr<google::protobuf::Timestamp> ParseTime(std::string_view text,
                                                      const google::protobuf::Timestamp& now);

}  // namespace phantomd
