#include "agent/kube/pb_streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "agent/kube/pb_envelope.h"
#include "agent/kube/pb_object.h"

namespace phantomd {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr uint32_t kListMetadata = 1;
constexpr uint32_t kListItems = 2;
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

absl::Status TooLong(std::string_view what, uint64_t length) {
  return absl::ResourceExhaustedError(
      fmt::format("{} of {} bytes, more than {}", what, length, kMaxPbMessage));
}

absl::Status NotAList(std::string_view why) {
  return absl::InvalidArgumentError(fmt::format("not a list in protobuf: {}", why));
}

}  // namespace

void PbFrameSplitter::Add(std::string_view bytes) {
  buffer_.erase(0, std::exchange(at_, 0));
  buffer_ += bytes;
}

absl::StatusOr<std::optional<std::string_view>> PbFrameSplitter::Next() {
  if (!error_.ok()) return error_;
  const std::string_view rest = std::string_view(buffer_).substr(at_);
  if (rest.size() < kLengthBytes) return std::nullopt;
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length = length << 8 | static_cast<uint8_t>(rest[i]);
  if (length > kMaxPbMessage) return error_ = TooLong("a frame", length);
  if (rest.size() - kLengthBytes < length) return std::nullopt;
  at_ += kLengthBytes + length;
  return rest.substr(kLengthBytes, length);
}

void PbListSplitter::Add(std::string_view bytes) {
  buffer_.erase(0, std::exchange(at_, 0));
  buffer_ += bytes;
}

bool PbListSplitter::whole() const {
  return error_.ok() && state_ == State::kTail && rest().empty();
}

absl::StatusOr<std::optional<PbListSplitter::Piece>> PbListSplitter::Next() {
  if (error_.ok() && state_ == State::kMagic) error_ = ReadMagic();
  if (error_.ok() && state_ == State::kEnvelope) error_ = ReadEnvelope();
  if (error_.ok() && state_ == State::kList) {
    absl::StatusOr<std::optional<Piece>> piece = ReadList();
    if (!piece.ok()) {
      error_ = piece.status();
    } else if (piece->has_value()) {
      return piece;
    }
  }
  if (error_.ok() && state_ == State::kTail) error_ = ReadTail();
  if (!error_.ok()) return error_;
  return std::nullopt;
}

absl::Status PbListSplitter::ReadMagic() {
  const std::string_view begin = rest().substr(0, kPbMagic.size());
  if (!kPbMagic.starts_with(begin)) return NotAList("it does not begin with \"k8s\"");
  if (begin.size() == kPbMagic.size()) {
    at_ += kPbMagic.size();
    state_ = State::kEnvelope;
  }
  return absl::OkStatus();
}

absl::Status PbListSplitter::ReadEnvelope() {
  while (true) {
    // Of the list itself only the head is needed: it need not be whole.
    WireHead head;
    const WireTrouble trouble = ReadWireHead(rest(), head);
    if (trouble == WireTrouble::kNone && head.number == pb_unknown::kRaw.number &&
        head.type == WireType::kBytes) {
      if (kind_.empty()) return NotAList("its kind does not stand before it");
      at_ += head.size;
      list_left_ = head.length;
      state_ = State::kList;
      return absl::OkStatus();
    }
    const absl::StatusOr<std::optional<Field>> field = TakeField(kNoLimit);
    if (!field.ok()) return field.status();
    if (!field->has_value()) return absl::OkStatus();
    if ((*field)->head.number != pb_unknown::kTypeMeta.number) continue;
    absl::Status error;
    kind_ = PbObject((*field)->contents, &error).Text(pb_unknown::kKind);
    if (!error.ok()) return error;
  }
}

absl::StatusOr<std::optional<PbListSplitter::Piece>> PbListSplitter::ReadList() {
  while (list_left_ > 0) {
    const size_t before = at_;
    const absl::StatusOr<std::optional<Field>> field = TakeField(list_left_);
    if (!field.ok()) return field.status();
    if (!field->has_value()) return std::nullopt;
    list_left_ -= at_ - before;
    const WireHead& head = (*field)->head;
    const bool known = head.number == kListMetadata || head.number == kListItems;
    if (!known) continue;
    if (head.type != WireType::kBytes) return NotAList("a field of another type");
    return Piece{head.number == kListItems ? Piece::Type::kItem : Piece::Type::kMetadata,
                 (*field)->contents};
  }
  state_ = State::kTail;
  return std::nullopt;
}

absl::Status PbListSplitter::ReadTail() {
  while (true) {
    const absl::StatusOr<std::optional<Field>> field = TakeField(kNoLimit);
    if (!field.ok()) return field.status();
    if (!field->has_value()) return absl::OkStatus();
    if ((*field)->head.number == pb_unknown::kContentEncoding.number &&
        !(*field)->contents.empty()) {
      return NotAList("its encoding is not known");
    }
  }
}

absl::StatusOr<std::optional<PbListSplitter::Field>> PbListSplitter::TakeField(uint64_t limit) {
  const std::string_view bytes = rest().substr(0, limit);
  if (bytes.empty()) return std::nullopt;
  Field out;
  const WireTrouble trouble = ReadWireHead(bytes, out.head);
  if (trouble == WireTrouble::kCutShort && bytes.size() < limit) return std::nullopt;
  if (trouble != WireTrouble::kNone) return NotAList(WireTroubleText(trouble));
  if (out.head.type == WireType::kGroupBegin || out.head.type == WireType::kGroupEnd) {
    return NotAList("a group");
  }
  if (out.head.length > kMaxPbMessage) return TooLong("an item", out.head.length);
  if (out.head.size + out.head.length > limit) return NotAList("an item goes beyond its end");
  if (out.head.size + out.head.length > bytes.size()) return std::nullopt;
  out.contents = bytes.substr(out.head.size, out.head.length);
  at_ += out.head.size + out.head.length;
  return out;
}

}  // namespace phantomd
