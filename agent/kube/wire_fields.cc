#include "agent/kube/wire_fields.h"

#include <fmt/format.h>

#include <array>

namespace phantomd {
namespace {

constexpr size_t kMaxVarint = 10;
constexpr uint64_t kMaxTag = (uint64_t{1} << 32) - 1;

WireTrouble ReadVarint(std::string_view bytes, size_t& at, uint64_t& out) {
  if (at < bytes.size() && static_cast<uint8_t>(bytes[at]) < 0x80) {
    out = static_cast<uint8_t>(bytes[at++]);
    return WireTrouble::kNone;
  }
  out = 0;
  for (size_t i = 0; i < kMaxVarint; ++i) {
    if (at == bytes.size()) return WireTrouble::kCutShort;
    const uint8_t byte = static_cast<uint8_t>(bytes[at++]);
    // Bits beyond the 64th are dropped, as protobuf does.
    out |= static_cast<uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return WireTrouble::kNone;
  }
  return WireTrouble::kLongNumber;
}

}  // namespace

const char* WireTroubleText(WireTrouble trouble) {
  switch (trouble) {
    case WireTrouble::kNone:
      return "no trouble";
    case WireTrouble::kCutShort:
      return "cut short";
    case WireTrouble::kLongNumber:
      return "a number of too many bytes";
    case WireTrouble::kFieldNumber:
      return "a field number out of range";
    case WireTrouble::kType:
      return "a wire type that does not exist";
    case WireTrouble::kGroupEnd:
      return "the end of a group that has not begun";
    case WireTrouble::kDeepGroups:
      return "groups nested too deeply";
  }
  return "";
}

WireTrouble ReadWireHead(std::string_view bytes, WireHead& out) {
  size_t at = 0;
  uint64_t tag = 0;
  if (const WireTrouble trouble = ReadVarint(bytes, at, tag); trouble != WireTrouble::kNone) {
    return trouble;
  }
  if (tag > kMaxTag) return WireTrouble::kLongNumber;
  out.number = static_cast<uint32_t>(tag >> 3);
  out.type = static_cast<WireType>(tag & 7);
  if (out.number == 0) return WireTrouble::kFieldNumber;
  out.varint = 0;
  out.length = 0;
  switch (out.type) {
    case WireType::kVarint:
    case WireType::kBytes: {
      uint64_t& value = out.type == WireType::kVarint ? out.varint : out.length;
      if (const WireTrouble trouble = ReadVarint(bytes, at, value); trouble != WireTrouble::kNone) {
        return trouble;
      }
      break;
    }
    case WireType::kFixed64:
      out.length = 8;
      break;
    case WireType::kFixed32:
      out.length = 4;
      break;
    case WireType::kGroupBegin:
    case WireType::kGroupEnd:
      break;
    default:
      return WireTrouble::kType;
  }
  out.size = at;
  return WireTrouble::kNone;
}

bool WireFields::Fail(WireTrouble trouble) {
  trouble_ = trouble;
  return false;
}

WireTrouble WireFields::ReadField(size_t& at) {
  const std::string_view rest = message_.substr(at);
  if (const WireTrouble trouble = ReadWireHead(rest, head_); trouble != WireTrouble::kNone) {
    return trouble;
  }
  if (head_.length > rest.size() - head_.size) return WireTrouble::kCutShort;
  contents_ = rest.substr(head_.size, head_.length);
  at += head_.size + head_.length;
  return WireTrouble::kNone;
}

WireTrouble WireFields::SkipGroup(size_t& at) {
  std::array<uint32_t, kMaxGroups> open{};
  size_t depth = 0;
  open[depth++] = head_.number;
  while (depth > 0) {
    if (const WireTrouble trouble = ReadField(at); trouble != WireTrouble::kNone) return trouble;
    if (head_.type == WireType::kGroupBegin) {
      if (depth == open.size()) return WireTrouble::kDeepGroups;
      open[depth++] = head_.number;
    } else if (head_.type == WireType::kGroupEnd) {
      if (open[--depth] != head_.number) return WireTrouble::kGroupEnd;
    }
  }
  return WireTrouble::kNone;
}

bool WireFields::NextOfAnyForm() {
  while (trouble_ == WireTrouble::kNone && at_ < message_.size()) {
    size_t at = at_;
    WireTrouble trouble = ReadField(at);
    if (trouble == WireTrouble::kNone && head_.type == WireType::kGroupEnd) {
      trouble = WireTrouble::kGroupEnd;
    }
    const bool is_group = trouble == WireTrouble::kNone && head_.type == WireType::kGroupBegin;
    if (is_group) trouble = SkipGroup(at);
    if (trouble != WireTrouble::kNone) return Fail(trouble);
    at_ = at;
    if (!is_group) return true;
  }
  return false;
}

std::string WireFields::TroubleText() const {
  return fmt::format("at byte {}: {}", at_, WireTroubleText(trouble_));
}

}  // namespace phantomd
