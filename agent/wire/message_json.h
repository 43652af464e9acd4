// The JSON form of a message, as every answer in JSON is printed: proto3 JSON with lowerCamelCase
// names, 64-bit integers as strings, fields that hold their default left out. The same message
// always gives the same text.
//
// Pure functions.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace phantomd {

enum class JsonStyle {
  kLine,    // one line, without a line break at its end
  kPretty,  // indented, ends with a line break
};

std::string MessageToJson(const google::protobuf::Message& message, JsonStyle style);

}  // namespace phantomd
