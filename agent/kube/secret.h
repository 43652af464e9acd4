// Secret holds a token or a private key, so that it cannot be printed by accident: no stream, no
// fmt, no conversion. Only who sends it to the API server reveals it.
//
// Plain value.
#pragma once

#include <string>
#include <utility>

namespace phantomd {

class Secret {
 public:
  Secret() = default;  // none
  explicit Secret(std::string value) : value_(std::move(value)) {}

  bool empty() const { return value_.empty(); }
  const std::string& Reveal() const { return value_; }

  friend bool operator==(const Secret&, const Secret&) = default;

 private:
  std::string value_;
};

}  // namespace phantomd
