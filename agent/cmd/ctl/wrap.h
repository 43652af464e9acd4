// How texts keep within the columns of a screen.
//
// Pure function.
#pragma once

#include <string>
#include <string_view>

namespace phantomd {

inline constexpr size_t kScreen = 100;  // columns of what is printed for people

// What a column of names shrinks to: namespace or pod can still be guessed.
inline constexpr size_t kShortestName = 9;

// `text`, broken at spaces so that no line is longer than `most` characters, with a line break
// after each; all lines but the first begin with `margin` spaces. A word that is longer stays
// whole.
std::string Wrapped(std::string_view text, size_t margin, size_t most = kScreen);

}  // namespace phantomd
