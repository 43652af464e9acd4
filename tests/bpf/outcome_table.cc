#include "tests/bpf/outcome_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace phantomd {
namespace {

const char* NameOf(Outcome outcome) {
  constexpr const char* kNames[] = {"UNSPECIFIED", "ESTABLISHED", "REFUSED",
                                    "TIMED_OUT",   "ABANDONED",   "UNREACHABLE",
                                    "NO_ROUTE",    "LOCAL_ERROR", "OTHER_ERROR"};
  return kNames[static_cast<int>(outcome)];
}

class PrintAtTheEnd : public testing::Environment {
 public:
  void TearDown() override { ResultTable::Instance().Print(); }
};

[[maybe_unused]] const testing::Environment* const print_at_the_end =
    testing::AddGlobalTestEnvironment(new PrintAtTheEnd);

}  // namespace

std::string Show(const Expected& e) {
  std::string out = NameOf(e.outcome);
  if (e.error_number != 0) out += fmt::format(" errno {}", e.error_number);
  if (e.icmp_type != 0) out += fmt::format(" icmp {}/{}", e.icmp_type, e.icmp_code);
  if (e.syn_retransmits > 0) out += fmt::format(" retransmits {}", e.syn_retransmits);
  return out;
}

std::string Show(const std::vector<Expected>& expected) {
  if (expected.empty()) return "no record";
  std::vector<std::string> records;
  for (const Expected& e : expected) records.push_back(Show(e));
  return fmt::format("{}", fmt::join(records, " + "));
}

ResultTable& ResultTable::Instance() {
  static ResultTable table;
  return table;
}

void ResultTable::Add(std::string_view row, Family family, std::string_view expected,
                      std::string_view seen) {
  lines_.push_back({std::string(row), family, std::string(expected), std::string(seen)});
}

void ResultTable::Print() const {
  std::vector<Line> lines = lines_;
  std::stable_sort(lines.begin(), lines.end(),
                   [](const Line& a, const Line& b) { return a.row < b.row; });
  size_t row_width = 0;
  size_t expected_width = 0;
  size_t equal = 0;
  for (const Line& line : lines) {
    row_width = std::max(row_width, line.row.size());
    expected_width = std::max(expected_width, line.expected.size());
    equal += line.expected == line.seen;
  }
  for (const Line& line : lines) {
    std::printf("%s\n",
                fmt::format("{:{}}  {:6}  expected {:{}}  seen {}", line.row, row_width,
                            phantomd::NameOf(line.family), line.expected, expected_width, line.seen)
                    .c_str());
  }
  std::printf("rows x families: %zu, as expected: %zu\n", lines.size(), equal);
}

}  // namespace phantomd
