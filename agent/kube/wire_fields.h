// The wire format of protobuf, field by field, without a schema.
//
// ReadWireHead reads what stands before a field's contents; WireFields goes through the fields of
// one message that is whole in memory. Groups, which nobody writes any more, are skipped. Nothing
// is read outside the bytes that were given.
//
//   WireFields fields("\x08\x96\x01\x12\x02hi");
//   Next() -> number 1, kVarint, varint 150
//   Next() -> number 2, kBytes, bytes "hi"
//   Next() -> false, trouble kNone: the end
//
// Thread-compatible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace phantomd {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kGroupBegin = 3,
  kGroupEnd = 4,
  kFixed32 = 5,
};

enum class WireTrouble {
  kNone,
  kCutShort,     // the bytes end inside a field
  kLongNumber,   // a varint of more than ten bytes, or a tag of more than five
  kFieldNumber,  // 0, or more than 2^29 - 1
  kType,         // 6 or 7, which no wire type has
  kGroupEnd,     // the end of a group that has not begun, or another's
  kDeepGroups,   // groups nested deeper than WireFields::kMaxGroups
};
// "cut short", as a clause.
const char* WireTroubleText(WireTrouble trouble);

struct WireHead {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t varint = 0;  // of kVarint
  uint64_t length = 0;  // of the contents that follow the head: kBytes and fixed types
  size_t size = 0;      // of the head
};

// Reads the head at the beginning of `bytes`.
WireTrouble ReadWireHead(std::string_view bytes, WireHead& out);

// The same for a head of two bytes, which most are: a number or a length below 128 in one of the
// fields 1 to 15. False: `bytes` does not begin with one.
inline bool ReadShortWireHead(std::string_view bytes, WireHead& out) {
  if (bytes.size() < 2) return false;
  const auto tag = static_cast<uint8_t>(bytes[0]);
  const auto value = static_cast<uint8_t>(bytes[1]);
  const auto type = static_cast<WireType>(tag & 7);
  const bool is_short = tag >= 8 && tag < 0x80 && value < 0x80 &&
                        (type == WireType::kBytes || type == WireType::kVarint);
  if (!is_short) return false;
  out.number = tag >> 3;
  out.type = type;
  out.varint = type == WireType::kVarint ? value : 0;
  out.length = type == WireType::kBytes ? value : 0;
  out.size = 2;
  return true;
}

class WireFields {
 public:
  static constexpr size_t kMaxGroups = 16;

  explicit WireFields(std::string_view message) : message_(message) {}

  // False: the end of the message, or trouble(), after which it stays so.
  bool Next() {
    if (trouble_ != WireTrouble::kNone) return false;
    const std::string_view rest = message_.substr(at_);
    if (!ReadShortWireHead(rest, head_) || head_.length > rest.size() - head_.size) {
      return NextOfAnyForm();
    }
    contents_ = rest.substr(head_.size, head_.length);
    at_ += head_.size + head_.length;
    return true;
  }

  uint32_t number() const { return head_.number; }
  WireType type() const { return head_.type; }
  uint64_t varint() const { return head_.varint; }      // of kVarint
  std::string_view bytes() const { return contents_; }  // of kBytes and fixed types
  WireTrouble trouble() const { return trouble_; }
  // "at byte 17: cut short"; the byte is where the field in trouble begins.
  std::string TroubleText() const;

 private:
  bool NextOfAnyForm();
  bool Fail(WireTrouble trouble);
  WireTrouble ReadField(size_t& at);
  WireTrouble SkipGroup(size_t& at);

  const std::string_view message_;
  size_t at_ = 0;
  WireHead head_;
  std::string_view contents_;
  WireTrouble trouble_ = WireTrouble::kNone;
};

}  // namespace phantomd
