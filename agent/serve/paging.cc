#include "agent/serve/paging.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "agent/base/strings.h"

namespace phantomd {
namespace {

constexpr size_t kNumberBytes = 8;

std::string BigEndian(uint64_t number) {
  std::string out(kNumberBytes, '\0');
  for (size_t i = kNumberBytes; i-- > 0; number >>= 8) out[i] = static_cast<char>(number & 0xFF);
  return out;
}

// FNV-1a: the same in every run and on every machine, as a token must be that outlives a process.
uint64_t Fingerprint(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace

absl::StatusOr<PageRequest> ParsePageRequest(int32_t page_size, std::string_view token,
                                             std::string_view list) {
  if (page_size < 0) {
    return absl::InvalidArgumentError(fmt::format("page_size: {} is negative", page_size));
  }
  PageRequest out;
  if (page_size > 0) out.size = std::min<size_t>(page_size, kMaxPageSize);
  if (token.empty()) return out;
  std::string bytes;
  if (!absl::WebSafeBase64Unescape(ToAbsl(token), &bytes) || bytes.size() <= kNumberBytes ||
      bytes.substr(0, kNumberBytes) != BigEndian(Fingerprint(list))) {
    return absl::InvalidArgumentError(
        fmt::format("page_token: \"{}\" was not given by this list with this filter", token));
  }
  out.after = bytes.substr(kNumberBytes);
  return out;
}

std::string PageToken(std::string_view last_key, std::string_view list) {
  return absl::WebSafeBase64Escape(BigEndian(Fingerprint(list)) + std::string(last_key));
}

std::string DescendingKey(uint64_t number) { return BigEndian(~number); }

}  // namespace phantomd
