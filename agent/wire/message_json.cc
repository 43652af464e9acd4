#include "agent/wire/message_json.h"

#include <google/protobuf/util/json_util.h>

#include "agent/base/check.h"

namespace phantomd {

std::string MessageToJson(const google::protobuf::Message& message, JsonStyle style) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = style == JsonStyle::kPretty;
  std::string out;
  // Fails only for what our messages cannot hold: a Timestamp outside the years 1 to 9999 (int64
  // nanoseconds end in 2262) or an Any of unknown type.
  PHANTOMD_CHECK(google::protobuf::util::MessageToJsonString(message, &out, options).ok());
  return out;
}

}  // namespace phantomd
