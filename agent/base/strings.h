// Debian's Abseil has a string_view type of its own; our interfaces use the standard one and fmt
// builds strings.
#pragma once

#include <string_view>

#include "absl/strings/string_view.h"

namespace phantomd {

inline absl::string_view ToAbsl(std::string_view s) { return {s.data(), s.size()}; }
inline std::string_view FromAbsl(absl::string_view s) { return {s.data(), s.size()}; }

}  // namespace phantomd
