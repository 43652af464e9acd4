#include "agent/wire/field_path.h"

#include <fmt/format.h>

#include "agent/base/strings.h"

namespace phantomd {

void FieldPath::Fail(std::string_view field, std::string_view what, int index) const {
  if (!first_error_->ok()) return;
  const std::string at = FieldPath(*this, field, index).ToString();
  *first_error_ = absl::InvalidArgumentError(fmt::format("{}: {}", at, what));
}

void FieldPath::FailEnum(std::string_view field, int value) const {
  Fail(field, fmt::format("{} is not one of its values", value));
}

std::string FieldPath::ToString() const {
  if (parent_ == nullptr) return "";
  std::string out = parent_->ToString();
  if (!out.empty()) out += '.';
  out += field_;
  if (index_ != kNoIndex) out += fmt::format("[{}]", index_);
  return out;
}

IpAddr FieldPath::OptionalAddress(std::string_view field, std::string_view bytes) const {
  return bytes.empty() ? IpAddr() : Address(field, kNoIndex, bytes);
}

IpAddr FieldPath::Address(std::string_view field, int index, std::string_view bytes) const {
  absl::StatusOr<IpAddr> ip = IpAddr::FromBytes(bytes);
  if (ip.ok()) return *ip;
  Fail(field, FromAbsl(ip.status().message()), index);
  return IpAddr();
}

uint16_t FieldPath::Port(std::string_view field, uint32_t port) const {
  if (port <= 65535) return static_cast<uint16_t>(port);
  Fail(field, fmt::format("{} is more than 65535", port));
  return 0;
}

Nanos FieldPath::Delay(std::string_view field, int64_t nanos) const {
  if (nanos >= 0) return Nanos(nanos);
  Fail(field, fmt::format("{} is negative", nanos));
  return Nanos(0);
}

void FieldPath::AddressRange(std::string_view field, int index, std::string_view text) const {
  if (absl::StatusOr<IpPrefix> range = IpPrefix::Parse(text); !range.ok()) {
    Fail(field, FromAbsl(range.status().message()), index);
  }
}

}  // namespace phantomd
