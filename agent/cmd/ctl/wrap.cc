#include "agent/cmd/ctl/wrap.h"

#include <algorithm>

#include "agent/cmd/ctl/text_table.h"

namespace phantomd {

std::string Wrapped(std::string_view text, size_t margin, size_t most) {
  std::string out;
  std::string line;
  bool has_word = false;  // on this line
  while (true) {
    // A word and the spaces before it: those within a line stay as they are.
    const size_t begin = std::min(text.find_first_not_of(' '), text.size());
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (begin == text.size()) break;
    const std::string_view piece = text.substr(0, end);
    if (has_word && ColumnsOf(line) + ColumnsOf(piece) > most) {
      out += line + "\n";
      line = std::string(margin, ' ') + std::string(text.substr(begin, end - begin));
    } else {
      line += piece;
    }
    has_word = true;
    text.remove_prefix(end);
  }
  return out + line + "\n";
}

}  // namespace phantomd
