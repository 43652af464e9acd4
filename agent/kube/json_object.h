// JsonObject reads the fields of one JSON object as Kubernetes means them: a field that is absent
// and one that is null are the same, an object that is absent has no fields, and a field of the
// wrong type is an error that names its path, as in "status.podIPs[1].ip: not a string".
//
// The first error is kept in the Status given to the root; readers go on with the default and look
// at the Status at the end. Lives on one thread's stack, shorter than its parent and the parsed
// document.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/kube/api_fields.h"
#include "agent/wire/field_path.h"

namespace phantomd {

class JsonObject {
 public:
  // `element` must be an object.
  JsonObject(simdjson::dom::element element, absl::Status* first_error);
  JsonObject(const JsonObject&) = delete;
  JsonObject& operator=(const JsonObject&) = delete;

  bool Has(ApiField field) const { return Find(field.name).has_value(); }
  std::string_view Text(ApiField field) const;
  std::optional<bool> Bool(ApiField field) const;
  int64_t Integer(ApiField field) const;  // 0 when absent
  WallTime Time(ApiField field) const;    // unset when absent
  uint16_t Port(ApiField field) const;    // 0 when absent
  JsonObject Object(ApiField field) const;
  size_t Count(ApiField field) const;  // of an array

  // Calls `take(JsonObject)` for each object of an array.
  template <typename Take>
  void ForEach(ApiField field, Take take) const {
    const std::optional<simdjson::dom::array> array = Array(field.name);
    if (!array) return;
    int index = 0;
    for (const simdjson::dom::element element : *array) {
      take(JsonObject(path_, field.name, index++, element));
    }
  }
  // Calls `take(std::string_view)` for each text of an array.
  template <typename Take>
  void ForEachText(ApiField field, Take take) const {
    const std::optional<simdjson::dom::array> array = Array(field.name);
    if (!array) return;
    int index = 0;
    for (const simdjson::dom::element element : *array) {
      take(AsText(element, field.name, index++));
    }
  }

  // Calls `take(key, value)` for each entry of an object of texts.
  template <typename Take>
  void ForEachInMap(ApiField field, Take take) const {
    const JsonObject map = Object(field);
    if (!map.object_) return;
    for (const auto& [key, value] : *map.object_) {
      if (!value.is_null()) take(key, map.AsText(value, key, FieldPath::kNoIndex));
    }
  }

  // An address in text form that stood in `field`; nothing, and an error, when it is none.
  std::optional<IpAddr> ParseAddress(ApiField field, std::string_view text) const;

  void Fail(ApiField field, std::string_view what) const { path_.Fail(field.name, what); }

 private:
  JsonObject(const FieldPath& parent, std::string_view field, int index,
             std::optional<simdjson::dom::element> element);

  std::optional<simdjson::dom::element> Find(std::string_view field) const;
  std::optional<simdjson::dom::array> Array(std::string_view field) const;
  std::string_view AsText(simdjson::dom::element element, std::string_view field, int index) const;

  FieldPath path_;
  std::optional<simdjson::dom::object> object_;
};

}  // namespace phantomd
