#include "agent/kube/pb_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "agent/base/strings.h"
#include "agent/base/utf8.h"
#include "agent/kube/rfc3339.h"

namespace phantomd {
namespace {

// Of metav1.Time; nanoseconds are never sent (apimachinery: meta/v1/time_proto.go).
constexpr uint32_t kSeconds = 1;

// Of an entry of a map.
constexpr uint32_t kKey = 1;
constexpr uint32_t kValue = 2;

}  // namespace

PbObject::PbObject(std::string_view message, absl::Status* first_error) : path_(first_error) {
  ReadEntries(message, nullptr, {}, FieldPath::kNoIndex);
}

PbObject::PbObject(const FieldPath& parent, ApiField field, int index, const Entry* entry)
    : path_(parent, field.name, index) {
  if (entry == nullptr) return;
  if (entry->type == WireType::kBytes) {
    ReadEntries(entry->bytes, &parent, field, index);
  } else {
    parent.Fail(field.name, "not an object", index);
  }
}

void PbObject::ReadEntries(std::string_view message, const FieldPath* parent, ApiField field,
                           int index) {
  WireFields fields(message);
  std::string wrong;
  while (wrong.empty() && fields.Next()) {
    if (entries_.size() == kMaxFields) {
      wrong = fmt::format("a message of more than {} fields", kMaxFields);
    } else {
      entries_.push_back({fields.number(), fields.type(), fields.varint(), fields.bytes()});
    }
  }
  if (fields.trouble() != WireTrouble::kNone) {
    wrong = fmt::format("not protobuf {}", fields.TroubleText());
  }
  if (wrong.empty()) return;
  entries_.clear();
  if (parent != nullptr) {
    parent->Fail(field.name, wrong, index);
  } else {
    path_.Fail("object", wrong);
  }
}

const PbObject::Entry* PbObject::Find(ApiField field) const {
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->number == field.number) return &*entry;
  }
  return nullptr;
}

std::string_view PbObject::AsText(const Entry& entry, ApiField field, int index) const {
  if (entry.type != WireType::kBytes) {
    path_.Fail(field.name, "not a string", index);
  } else if (!IsUtf8(entry.bytes)) {
    path_.Fail(field.name, "not UTF-8", index);
  } else {
    return entry.bytes;
  }
  return {};
}

std::string_view PbObject::Text(ApiField field) const {
  const Entry* entry = Find(field);
  return entry == nullptr ? std::string_view() : AsText(*entry, field, FieldPath::kNoIndex);
}

std::string_view PbObject::Bytes(ApiField field) const {
  const Entry* entry = Find(field);
  if (entry == nullptr) return {};
  if (entry->type == WireType::kBytes) return entry->bytes;
  path_.Fail(field.name, "not bytes");
  return {};
}

std::optional<bool> PbObject::Bool(ApiField field) const {
  const Entry* entry = Find(field);
  if (entry == nullptr) return std::nullopt;
  if (entry->type == WireType::kVarint) return entry->varint != 0;
  path_.Fail(field.name, "neither true nor false");
  return std::nullopt;
}

int64_t PbObject::Integer(ApiField field) const {
  const Entry* entry = Find(field);
  if (entry == nullptr) return 0;
  if (entry->type == WireType::kVarint) return static_cast<int64_t>(entry->varint);
  path_.Fail(field.name, "not an integer");
  return 0;
}

WallTime PbObject::Time(ApiField field) const {
  const PbObject time = Object(field);
  const absl::StatusOr<WallTime> out = WallTimeOfSeconds(time.Integer({"seconds", kSeconds}));
  if (out.ok()) return *out;
  path_.Fail(field.name, FromAbsl(out.status().message()));
  return {};
}

uint16_t PbObject::Port(ApiField field) const {
  const int64_t port = Integer(field);
  if (port >= 0 && port <= std::numeric_limits<uint16_t>::max()) return static_cast<uint16_t>(port);
  path_.Fail(field.name, fmt::format("{} is not a port", port));
  return 0;
}

PbObject PbObject::Object(ApiField field) const {
  return PbObject(path_, field, FieldPath::kNoIndex, Find(field));
}

size_t PbObject::Count(ApiField field) const {
  return static_cast<size_t>(
      std::count_if(entries_.begin(), entries_.end(),
                    [field](const Entry& entry) { return entry.number == field.number; }));
}

bool PbObject::ReadMapEntry(const Entry& entry, ApiField field, std::string_view& key,
                            std::string_view& value) const {
  WireFields fields(entry.bytes);
  while (fields.Next()) {
    if (fields.type() != WireType::kBytes) continue;
    if (fields.number() == kKey) key = fields.bytes();
    if (fields.number() == kValue) value = fields.bytes();
  }
  if (fields.trouble() != WireTrouble::kNone) {
    path_.Fail(field.name, fmt::format("not protobuf {}", fields.TroubleText()));
    return false;
  }
  if (IsUtf8(key) && IsUtf8(value)) return true;
  path_.Fail(field.name, "not UTF-8");
  return false;
}

std::optional<IpAddr> PbObject::ParseAddress(ApiField field, std::string_view text) const {
  const absl::StatusOr<IpAddr> ip = IpAddr::Parse(text);
  if (ip.ok()) return *ip;
  path_.Fail(field.name, FromAbsl(ip.status().message()));
  return std::nullopt;
}

}  // namespace phantomd
