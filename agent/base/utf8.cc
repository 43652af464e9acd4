#include "agent/base/utf8.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace phantomd {
namespace {

struct Lead {
  size_t more = 0;       // bytes that follow
  uint8_t first = 0x80;  // bounds of the first of them; all others are 0x80 to 0xBF
  uint8_t last = 0xBF;
  bool valid = true;
};

// Table 3-7 of the Unicode standard.
Lead LeadOf(uint8_t byte) {
  if (byte < 0x80) return {};
  if (byte < 0xC2) return {.valid = false};
  if (byte < 0xE0) return {.more = 1};
  if (byte == 0xE0) return {.more = 2, .first = 0xA0};
  if (byte == 0xED) return {.more = 2, .last = 0x9F};
  if (byte < 0xF0) return {.more = 2};
  if (byte == 0xF0) return {.more = 3, .first = 0x90};
  if (byte < 0xF4) return {.more = 3};
  if (byte == 0xF4) return {.more = 3, .last = 0x8F};
  return {.valid = false};
}

// How many bytes at the beginning are certainly ASCII, which is most of what is ever asked: eight
// at a time.
size_t PlainBytes(std::string_view bytes) {
  constexpr uint64_t kHighBits = 0x8080808080808080;
  size_t at = 0;
  for (uint64_t word = 0; bytes.size() - at >= sizeof(word); at += sizeof(word)) {
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  return at;
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  for (size_t at = PlainBytes(bytes); at < bytes.size();) {
    const Lead lead = LeadOf(static_cast<uint8_t>(bytes[at]));
    if (!lead.valid || lead.more > bytes.size() - at - 1) return false;
    for (size_t i = 1; i <= lead.more; ++i) {
      const auto byte = static_cast<uint8_t>(bytes[at + i]);
      if (byte < (i == 1 ? lead.first : 0x80) || byte > (i == 1 ? lead.last : 0xBF)) return false;
    }
    at += 1 + lead.more;
  }
  return true;
}

}  // namespace phantomd
