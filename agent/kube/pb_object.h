// PbObject reads the fields of one Kubernetes object in protobuf, with the methods of JsonObject
// and with the same answers: a field that is absent has its default, an object that is absent has
// no fields, and a field of the wrong type is an error that names its path.
//
// The message's own fields are found once, when it is made; what lies inside them is looked at only
// when it is asked for. Of a single field that stands there more than once the last counts. A
// message that is no protobuf is an error and has no fields. Texts must be UTF-8, as in JSON.
//
// The first error is kept in the Status given to the root. Lives on one thread's stack, shorter
// than its parent and the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/kube/api_fields.h"
#include "agent/kube/wire_fields.h"
#include "agent/wire/field_path.h"

namespace phantomd {

class PbObject {
 public:
  // Fields of one message. The API server holds metadata below 256 KiB and an EndpointSlice below
  // 1000 endpoints.
  static constexpr size_t kMaxFields = 1 << 17;

  PbObject(std::string_view message, absl::Status* first_error);
  PbObject(const PbObject&) = delete;
  PbObject& operator=(const PbObject&) = delete;

  bool Has(ApiField field) const { return Find(field) != nullptr; }
  std::string_view Text(ApiField field) const;
  std::string_view Bytes(ApiField field) const;  // of a field that is no text
  std::optional<bool> Bool(ApiField field) const;
  int64_t Integer(ApiField field) const;  // 0 when absent
  WallTime Time(ApiField field) const;    // unset when absent
  uint16_t Port(ApiField field) const;    // 0 when absent
  PbObject Object(ApiField field) const;
  size_t Count(ApiField field) const;  // of a repeated field

  // Calls `take(PbObject)` for each message of a repeated field.
  template <typename Take>
  void ForEach(ApiField field, Take take) const {
    int index = 0;
    for (const Entry& entry : entries_) {
      if (entry.number == field.number) take(PbObject(path_, field, index++, &entry));
    }
  }
  // Calls `take(std::string_view)` for each text of a repeated field.
  template <typename Take>
  void ForEachText(ApiField field, Take take) const {
    int index = 0;
    for (const Entry& entry : entries_) {
      if (entry.number == field.number) take(AsText(entry, field, index++));
    }
  }

  // Calls `take(key, value)` for each entry of a map of texts.
  template <typename Take>
  void ForEachInMap(ApiField field, Take take) const {
    for (const Entry& entry : entries_) {
      if (entry.number != field.number) continue;
      std::string_view key, value;
      if (ReadMapEntry(entry, field, key, value)) take(key, value);
    }
  }

  // An address in text form that stood in `field`; nothing, and an error, when it is none.
  std::optional<IpAddr> ParseAddress(ApiField field, std::string_view text) const;

  void Fail(ApiField field, std::string_view what) const { path_.Fail(field.name, what); }

 private:
  struct Entry {
    uint32_t number = 0;
    WireType type = WireType::kVarint;
    uint64_t varint = 0;
    std::string_view bytes;
  };

  PbObject(const FieldPath& parent, ApiField field, int index, const Entry* entry);

  void ReadEntries(std::string_view message, const FieldPath* parent, ApiField field, int index);
  const Entry* Find(ApiField field) const;
  bool ReadMapEntry(const Entry& entry, ApiField field, std::string_view& key,
                    std::string_view& value) const;
  std::string_view AsText(const Entry& entry, ApiField field, int index) const;

  FieldPath path_;
  absl::InlinedVector<Entry, 24> entries_;
};

}  // namespace phantomd
