// JSON -> YAML with the same content: keys in the same order, block style.
//
// Pure function.
#pragma once

#include <string>

namespace phantomd {

// `json` is the output of MessageToJson.
std::string JsonToYaml(const std::string& json);

}  // namespace phantomd
