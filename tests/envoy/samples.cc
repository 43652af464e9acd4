#include "tests/envoy/samples.h"

#include <gtest/gtest.h>

#include <cctype>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>

namespace phantomd {

std::string Sample(std::string_view name) {
  const char* root = std::getenv("PHANTOMD_SOURCE_DIR");
  const std::string path =
      std::string(root == nullptr ? "." : root) + "/tests/data/envoy/" + std::string(name);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  EXPECT_TRUE(file.good() && !bytes.str().empty()) << "cannot read " << path;
  return bytes.str();
}

std::string InCamelCase(std::string_view json) {
  // A name is a string that a colon follows. Names of metadata (with a dot) and "@type" stay.
  static const std::regex kName("\"([a-z][a-z0-9]*(_[a-z0-9]+)+)\"(\\s*:)");
  std::string out;
  std::string text(json);
  auto from = text.cbegin();
  for (std::sregex_iterator it(text.begin(), text.end(), kName), end; it != end; ++it) {
    out.append(from, text.cbegin() + it->position());
    const std::string name = (*it)[1];
    out += '"';
    for (size_t i = 0; i < name.size(); ++i) {
      if (name[i] != '_') {
        out += name[i];
      } else {
        out += static_cast<char>(std::toupper(name[++i]));
      }
    }
    out += '"' + (*it)[3].str();
    from = text.cbegin() + it->position() + it->length();
  }
  out.append(from, text.cend());
  return out;
}

std::string Compact(std::string_view json) {
  std::string out;
  bool in_string = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string && c == '\\') {
      out += c;
      out += json[++i];
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (in_string || !std::isspace(static_cast<unsigned char>(c))) out += c;
  }
  return out;
}

std::string WithBareCounters(std::string json) {
  static const std::regex kQuoted("(\"value\"\\s*:\\s*)\"([0-9]+)\"");
  return std::regex_replace(json, kQuoted, "$1$2");
}

}  // namespace phantomd
