#include "agent/kube/json_object.h"

#include <fmt/format.h>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/kube/rfc3339.h"

namespace phantomd {
namespace {

namespace dom = simdjson::dom;

}  // namespace

JsonObject::JsonObject(dom::element element, absl::Status* first_error) : path_(first_error) {
  dom::object object;
  PHANTOMD_CHECK(element.get(object) == simdjson::SUCCESS);
  object_ = object;
}

JsonObject::JsonObject(const FieldPath& parent, std::string_view field, int index,
                       std::optional<dom::element> element)
    : path_(parent, field, index) {
  if (!element) return;
  dom::object object;
  if (element->get(object) == simdjson::SUCCESS) {
    object_ = object;
  } else {
    parent.Fail(field, "not an object", index);
  }
}

std::optional<dom::element> JsonObject::Find(std::string_view field) const {
  dom::element out;
  if (!object_ || object_->at_key(field).get(out) != simdjson::SUCCESS || out.is_null()) {
    return std::nullopt;
  }
  return out;
}

std::string_view JsonObject::AsText(dom::element element, std::string_view field, int index) const {
  std::string_view out;
  if (element.get(out) != simdjson::SUCCESS) path_.Fail(field, "not a string", index);
  return out;
}

std::string_view JsonObject::Text(ApiField field) const {
  const std::optional<dom::element> element = Find(field.name);
  return element ? AsText(*element, field.name, FieldPath::kNoIndex) : std::string_view();
}

std::optional<bool> JsonObject::Bool(ApiField field) const {
  const std::optional<dom::element> element = Find(field.name);
  if (!element) return std::nullopt;
  bool out = false;
  if (element->get(out) == simdjson::SUCCESS) return out;
  path_.Fail(field.name, "neither true nor false");
  return std::nullopt;
}

int64_t JsonObject::Integer(ApiField field) const {
  const std::optional<dom::element> element = Find(field.name);
  int64_t out = 0;
  if (element && element->get(out) != simdjson::SUCCESS) path_.Fail(field.name, "not an integer");
  return out;
}

WallTime JsonObject::Time(ApiField field) const {
  const std::string_view text = Text(field);
  if (text.empty()) return {};
  const absl::StatusOr<WallTime> out = ParseRfc3339(text);
  if (out.ok()) return *out;
  path_.Fail(field.name, FromAbsl(out.status().message()));
  return {};
}

uint16_t JsonObject::Port(ApiField field) const {
  const int64_t port = Integer(field);
  if (port >= 0 && port <= 65535) return static_cast<uint16_t>(port);
  path_.Fail(field.name, fmt::format("{} is not a port", port));
  return 0;
}

JsonObject JsonObject::Object(ApiField field) const {
  return JsonObject(path_, field.name, FieldPath::kNoIndex, Find(field.name));
}

size_t JsonObject::Count(ApiField field) const {
  const std::optional<dom::array> array = Array(field.name);
  return array ? array->size() : 0;
}

std::optional<dom::array> JsonObject::Array(std::string_view field) const {
  const std::optional<dom::element> element = Find(field);
  if (!element) return std::nullopt;
  dom::array out;
  if (element->get(out) == simdjson::SUCCESS) return out;
  path_.Fail(field, "not a list");
  return std::nullopt;
}

std::optional<IpAddr> JsonObject::ParseAddress(ApiField field, std::string_view text) const {
  const absl::StatusOr<IpAddr> ip = IpAddr::Parse(text);
  if (ip.ok()) return *ip;
  path_.Fail(field.name, FromAbsl(ip.status().message()));
  return std::nullopt;
}

}  // namespace phantomd
