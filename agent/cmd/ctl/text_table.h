// TextTable: rows of text under titles, columns as wide as their widest cell, two spaces between.
//
// Numbers are aligned to the right, text to the left; no line ends with spaces. Example:
//   PROXY          STALE
//   shop/webapp-1      1
// A table that would be wider than asked for takes the middle out of the cells of columns that may
// shrink. The same in 17 columns:
//   PROXY       STALE
//   shop/…pp-1      1
//
// Thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace phantomd {

inline constexpr char kNone[] = "-";  // a cell that has nothing to say

// Characters, as far as a terminal counts them: the bytes that do not continue a UTF-8 sequence.
size_t ColumnsOf(std::string_view text);

class TextTable {
 public:
  struct Column {
    std::string title;
    enum { kLeft, kRight } align = kLeft;
    size_t least_width = 0;  // for rows that are not all known when the first is printed
    size_t shrinks_to = 0;   // at the least; 0: it keeps its width
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void Add(std::vector<std::string> row);

  // Titles and rows, each after `indent` spaces and with a line break; nothing without rows. In at
  // most `most` columns if those that may shrink allow it.
  std::string Text(size_t indent = 0, size_t most = std::string::npos) const;
  std::string Titles() const;
  // In at most `most` columns, as above.
  std::string Rows(size_t most = std::string::npos) const;

 private:
  std::vector<size_t> Widths(size_t most) const;
  std::string Line(const std::vector<std::string>& cells, const std::vector<size_t>& widths) const;
  std::vector<std::string> TitleCells() const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace phantomd
