// Whether bytes are UTF-8 text, as everything must be that goes into a message or a metric's label.
//
// Pure function.
#pragma once

#include <string_view>

namespace phantomd {

// As RFC 3629: no surrogates, nothing longer than needed, nothing above U+10FFFF.
bool IsUtf8(std::string_view bytes);

}  // namespace phantomd
