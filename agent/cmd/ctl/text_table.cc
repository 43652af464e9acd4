#include "agent/cmd/ctl/text_table.h"

#include <algorithm>
#include <utility>

#include "agent/base/check.h"

namespace phantomd {
namespace {

bool BeginsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// In at most `width` characters, its middle left out.
std::string Shortened(const std::string& text, size_t width) {
  const size_t have = ColumnsOf(text);
  if (have <= width) return text;
  const size_t head = width / 2;
  const size_t tail_from = have - (width - 1 - head);
  std::string out;
  size_t character = 0;  // the one that `c` belongs to, from 1
  for (const char c : text) {
    if (BeginsCharacter(c) && ++character == head + 1) out += "…";
    if (character <= head || character > tail_from) out += c;
  }
  return out;
}

}  // namespace

size_t ColumnsOf(std::string_view text) {
  return std::count_if(text.begin(), text.end(), BeginsCharacter);
}

void TextTable::Add(std::vector<std::string> row) {
  PHANTOMD_CHECK(row.size() == columns_.size());
  rows_.push_back(std::move(row));
}

std::vector<std::string> TextTable::TitleCells() const {
  std::vector<std::string> out;
  for (const Column& column : columns_) out.push_back(column.title);
  return out;
}

std::vector<size_t> TextTable::Widths(size_t most) const {
  std::vector<size_t> out;
  for (size_t i = 0; i < columns_.size(); ++i) {
    size_t width = std::max(columns_[i].least_width, ColumnsOf(columns_[i].title));
    for (const auto& row : rows_) width = std::max(width, ColumnsOf(row[i]));
    out.push_back(width);
  }
  size_t all = 2 * (out.size() - 1);
  for (const size_t width : out) all += width;
  for (size_t i = 0; i < out.size() && all > most; ++i) {
    if (columns_[i].shrinks_to == 0 || out[i] <= columns_[i].shrinks_to) continue;
    const size_t by = std::min(all - most, out[i] - columns_[i].shrinks_to);
    out[i] -= by;
    all -= by;
  }
  return out;
}

std::string TextTable::Line(const std::vector<std::string>& cells,
                            const std::vector<size_t>& widths) const {
  std::string out;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out += "  ";
    const std::string cell = Shortened(cells[i], widths[i]);
    const std::string padding(widths[i] - ColumnsOf(cell), ' ');
    out += columns_[i].align == Column::kRight ? padding + cell : cell + padding;
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string TextTable::Text(size_t indent, size_t most) const {
  if (rows_.empty()) return "";
  const std::vector<size_t> widths = Widths(most == std::string::npos ? most : most - indent);
  const std::string margin(indent, ' ');
  std::string out = margin + Line(TitleCells(), widths);
  for (const auto& row : rows_) out += margin + Line(row, widths);
  return out;
}

std::string TextTable::Titles() const { return Line(TitleCells(), Widths(std::string::npos)); }

std::string TextTable::Rows(size_t most) const {
  std::string out;
  for (const auto& row : rows_) out += Line(row, Widths(most));
  return out;
}

}  // namespace phantomd
