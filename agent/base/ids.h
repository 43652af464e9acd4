// Identifiers as types of their own, so that a pod UID never meets a pod name or a proxy's ID.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <utility>

namespace phantomd {

template <typename Tag>
class StringId {
 public:
  StringId() = default;  // empty: none
  explicit StringId(std::string value) : value_(std::move(value)) {}

  const std::string& value() const { return value_; }
  bool empty() const { return value_.empty(); }

  friend auto operator<=>(const StringId&, const StringId&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const StringId& id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  std::string value_;
};

// metadata.uid of a Pod.
using PodUid = StringId<struct PodUidTag>;

// One incarnation of one proxy: pod UID and container ID, or process start time and pid.
using ProxyId = StringId<struct ProxyIdTag>;

}  // namespace phantomd
