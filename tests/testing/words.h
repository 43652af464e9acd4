// How the small languages of the tests read a line: words, and numbers that must be whole.
#pragma once

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "agent/base/check.h"

namespace phantomd::testing {

inline std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  size_t from = 0;
  while (from <= text.size()) {
    const size_t to = std::min(text.find(separator, from), text.size());
    if (to > from) parts.emplace_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

inline double Number(std::string_view text) {
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  PHANTOMD_CHECK(result.ec == std::errc() && result.ptr == text.data() + text.size());
  return value;
}

}  // namespace phantomd::testing
