// Answers captured from Envoy 1.40 (tests/data/envoy/), and the rules that hold for every decoder
// of outside bytes.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace phantomd {

// The bytes of tests/data/envoy/<name>; fails the test if the file cannot be read.
std::string Sample(std::string_view name);

// The same JSON with every name in camelCase, as istiod prints it.
std::string InCamelCase(std::string_view json);
// The same JSON without white space outside strings, as newer releases stream it.
std::string Compact(std::string_view json);
// Quoted numbers become bare ones: "value": "12" -> "value": 12.
std::string WithBareCounters(std::string json);

}  // namespace phantomd
