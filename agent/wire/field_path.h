// FieldPath checks the fields of one message while it is decoded, and knows where in the whole
// message they are.
//
// Paths form a chain on the stack that is rendered only when something is wrong. The first thing
// that is wrong is kept in the Status given to the root; a decoder goes on with the field's default
// and its caller looks at the Status once, at the end.
//
//   absl::Status status;
//   FieldPath root(&status);
//   FieldPath(root, "clusters", 3).Port("port", 70000)
//     -> 0, and status is "clusters[3].port: 70000 is more than 65535"
//
// Lives on one thread's stack, shorter than its parent.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"

namespace phantomd {

class FieldPath {
 public:
  static constexpr int kNoIndex = -1;

  explicit FieldPath(absl::Status* first_error) : first_error_(first_error) {}
  FieldPath(const FieldPath& parent, std::string_view field, int index = kNoIndex)
      : parent_(&parent), field_(field), index_(index), first_error_(parent.first_error_) {}
  FieldPath(const FieldPath&) = delete;
  FieldPath& operator=(const FieldPath&) = delete;

  void Fail(std::string_view field, std::string_view what, int index = kNoIndex) const;

  // No bytes: an address that is not set.
  IpAddr OptionalAddress(std::string_view field, std::string_view bytes) const;
  IpAddr Address(std::string_view field, int index, std::string_view bytes) const;
  uint16_t Port(std::string_view field, uint32_t port) const;
  Nanos Delay(std::string_view field, int64_t nanos) const;  // not negative
  void AddressRange(std::string_view field, int index, std::string_view text) const;

  // `is_valid` is the generated <Enum>_IsValid; the engine's enums have the message's numbers.
  template <typename E>
  E Enum(std::string_view field, int value, bool (*is_valid)(int)) const {
    if (is_valid(value)) return static_cast<E>(value);
    FailEnum(field, value);
    return E{};
  }

 private:
  void FailEnum(std::string_view field, int value) const;
  std::string ToString() const;

  const FieldPath* parent_ = nullptr;
  std::string_view field_;
  int index_ = kNoIndex;
  absl::Status* first_error_;
};

}  // namespace phantomd
