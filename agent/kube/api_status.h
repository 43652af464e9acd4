// ApiStatus: why the API server refused a request or ended a watch (meta.v1.Status).
//
// Pure.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"

namespace phantomd {

struct ApiStatus {
  int64_t code = 0;      // as of HTTP: 410; 0: not told
  std::string reason;    // "Expired"
  std::string message;   // "too old resource version: 5 (9)"
  Nanos retry_after{0};  // not before that; 0: not told. At most kLongestRetryAfter

  friend bool operator==(const ApiStatus&, const ApiStatus&) = default;
};

// A server that asks for more gets this.
inline constexpr Nanos kLongestRetryAfter = std::chrono::minutes(5);
// 0 for what is negative.
Nanos RetryAfterOfSeconds(int64_t seconds);

// "Expired: too old resource version: 5 (9)".
std::string ToString(const ApiStatus& status);

absl::StatusOr<ApiStatus> DecodeStatus(simdjson::dom::element object);
absl::StatusOr<ApiStatus> DecodeStatus(std::string_view message);

// What the body of an answer with an HTTP status other than 200 tells: a Status as protobuf or
// JSON, whatever was asked for, or the first line of any other text as the message.
ApiStatus StatusOfBody(std::string_view body);

}  // namespace phantomd
