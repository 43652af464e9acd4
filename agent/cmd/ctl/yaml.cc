#include "agent/cmd/ctl/yaml.h"

#include <simdjson.h>

#include <regex>
#include <string_view>

#include "agent/base/check.h"

namespace phantomd {
namespace {

using simdjson::dom::element_type;

// Text that no YAML reader takes for something else needs no quotes; a JSON string is a YAML
// scalar.
std::string Scalar(const simdjson::dom::element& value) {
  static const std::regex kPlain(R"([A-Za-z_/][A-Za-z0-9_./-]*)");
  static const std::regex kTaken(R"(y|n|yes|no|on|off|true|false|null)", std::regex::icase);
  if (value.type() == element_type::STRING) {
    const std::string text(std::string_view(value.get_string().value_unsafe()));
    if (std::regex_match(text, kPlain) && !std::regex_match(text, kTaken)) return text;
  }
  return simdjson::minify(value);
}

bool IsEmpty(const simdjson::dom::element& value) {
  if (value.type() == element_type::OBJECT) return value.get_object().value_unsafe().size() == 0;
  if (value.type() == element_type::ARRAY) return value.get_array().value_unsafe().size() == 0;
  return false;
}

// `on_open_line`: the first line has its margin already ("- " of a list).
void Append(const simdjson::dom::element& value, size_t indent, bool on_open_line,
            std::string* out) {
  const std::string margin(indent, ' ');
  if (IsEmpty(value)) {
    *out += (value.type() == element_type::OBJECT ? "{}\n" : "[]\n");
  } else if (value.type() == element_type::OBJECT) {
    // A copy: the result that get_object() returns is gone before the loop begins.
    const simdjson::dom::object object = value.get_object().value_unsafe();
    bool first = on_open_line;
    for (const auto& [key, member] : object) {
      if (!first) *out += margin;
      first = false;
      *out += std::string(key) + ":";
      const bool block = !IsEmpty(member) && (member.type() == element_type::OBJECT ||
                                              member.type() == element_type::ARRAY);
      *out += block ? "\n" : " ";
      // A list may stand in the column of its key.
      Append(member, member.type() == element_type::ARRAY ? indent : indent + 2, false, out);
    }
  } else if (value.type() == element_type::ARRAY) {
    const simdjson::dom::array array = value.get_array().value_unsafe();
    for (const auto& item : array) {
      *out += margin + "- ";
      Append(item, indent + 2, true, out);
    }
  } else {
    *out += Scalar(value) + "\n";
  }
}

}  // namespace

std::string JsonToYaml(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  PHANTOMD_CHECK(parser.parse(json).get(root) == simdjson::SUCCESS);
  std::string out;
  Append(root, 0, false, &out);
  return out;
}

}  // namespace phantomd
