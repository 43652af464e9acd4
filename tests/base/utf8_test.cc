#include "agent/base/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace phantomd {
namespace {

TEST(Utf8Test, TextIsToldFromOtherBytes) {
  const struct {
    std::string bytes;
    bool text;
  } kCases[] = {
      {"", true},
      {"shop/webapp-1", true},
      {"µ", true},
      {"\xDF\xBF", true},
      {"\xE0\xA0\x80", true},
      {"\xED\x9F\xBF", true},
      {"\xEF\xBF\xBF", true},
      {"\xF0\x90\x80\x80", true},
      {"\xF4\x8F\xBF\xBF", true},
      {"\xFF", false},
      {"\x80", false},
      {"a\xC3", false},     // cut
      {"\xE2\x82", false},  // cut
      {"\xC3(", false},     // followed by no continuation
      {"\xE2\x82(", false},
      {"\xC1\xBF", false},  // longer than needed
      {"\xE0\x9F\xBF", false},
      {"\xF0\x8F\xBF\xBF", false},
      {"\xED\xA0\x80", false},      // a surrogate
      {"\xF4\x90\x80\x80", false},  // above U+10FFFF
      {"\xF5\x80\x80\x80", false},
  };
  for (const auto& c : kCases)
    EXPECT_EQ(IsUtf8(c.bytes), c.text) << ::testing::PrintToString(c.bytes);
}

}  // namespace
}  // namespace phantomd
