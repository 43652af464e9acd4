#include "agent/kube/api_status.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/base/utf8.h"
#include "agent/kube/json_object.h"
#include "agent/kube/pb_envelope.h"
#include "agent/kube/pb_object.h"

namespace phantomd {
namespace {

constexpr size_t kLongestLine = 200;

template <typename Object>
absl::StatusOr<ApiStatus> Decode(const Object& root, const absl::Status& error) {
  namespace fields = api::status;
  ApiStatus out;
  out.code = root.Integer(fields::kCode);
  out.reason = root.Text(fields::kReason);
  out.message = root.Text(fields::kMessage);
  out.retry_after = RetryAfterOfSeconds(
      root.Object(fields::kDetails).Integer(api::status_details::kRetryAfterSeconds));
  if (!error.ok()) return error;
  return out;
}

absl::StatusOr<ApiStatus> StatusOfJson(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS || !root.is_object()) {
    return absl::InvalidArgumentError("not JSON");
  }
  std::string_view kind;
  if (root.at_key("kind").get(kind) != simdjson::SUCCESS || kind != "Status") {
    return absl::InvalidArgumentError("no Status");
  }
  return DecodeStatus(root);
}

absl::StatusOr<ApiStatus> StatusOfProtobuf(std::string_view body) {
  const absl::StatusOr<PbEnvelope> envelope = OpenPbEnvelope(body);
  if (!envelope.ok()) return envelope.status();
  if (envelope->kind != "Status") return absl::InvalidArgumentError("no Status");
  return DecodeStatus(envelope->raw);
}

// What a proxy on the way may have sent, so that it can be logged.
std::string FirstLine(std::string_view body) {
  std::string line(body.substr(0, std::min(body.find_first_of("\r\n"), kLongestLine)));
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return line;
}

}  // namespace

Nanos RetryAfterOfSeconds(int64_t seconds) {
  constexpr int64_t kMost = std::chrono::floor<std::chrono::seconds>(kLongestRetryAfter).count();
  return std::chrono::seconds(std::clamp<int64_t>(seconds, 0, kMost));
}

std::string ToString(const ApiStatus& status) {
  if (status.reason.empty()) return status.message;
  return fmt::format("{}: {}", status.reason, status.message);
}

absl::StatusOr<ApiStatus> DecodeStatus(simdjson::dom::element object) {
  absl::Status error;
  const JsonObject root(object, &error);
  return Decode(root, error);
}

absl::StatusOr<ApiStatus> DecodeStatus(std::string_view message) {
  absl::Status error;
  const PbObject root(message, &error);
  return Decode(root, error);
}

ApiStatus StatusOfBody(std::string_view body) {
  if (absl::StatusOr<ApiStatus> status = StatusOfProtobuf(body); status.ok()) return *status;
  if (absl::StatusOr<ApiStatus> status = StatusOfJson(body); status.ok()) return *status;
  return {.message = FirstLine(body)};
}

}  // namespace phantomd
