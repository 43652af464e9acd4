// The outcome table as the tests have it: what each row should give and what was seen, printed as
// one table when all tests have run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "agent/verdict/attempt.h"
#include "tests/bpf/network_lab.h"

namespace phantomd {

// One record. Rows in which nothing is recorded expect none.
struct Expected {
  Outcome outcome = Outcome::kUnspecified;
  int32_t error_number = 0;
  uint32_t icmp_type = 0;
  uint32_t icmp_code = 0;
  int64_t syn_retransmits = 0;  // -1: as many as the timing of the moment makes
};

std::string Show(const Expected& expected);
// "no record" for an empty one.
std::string Show(const std::vector<Expected>& expected);

// Thread-compatible.
class ResultTable {
 public:
  static ResultTable& Instance();

  void Add(std::string_view row, Family family, std::string_view expected, std::string_view seen);
  void Print() const;

 private:
  struct Line {
    std::string row;
    Family family;
    std::string expected;
    std::string seen;
  };
  std::vector<Line> lines_;
};

}  // namespace phantomd
