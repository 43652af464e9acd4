// What the tests of the state keep and read again.
#pragma once

#include <string>
#include <vector>

#include "agent/store/state_file.h"
#include "gtest/gtest.h"
#include "tests/wire/sample_inputs.h"

namespace phantomd::testing {

inline const StateOwner kOwner{.boot_id = "boot-1", .node_name = "n1", .feed = "none"};

inline Input Tick(int64_t at) {
  return {BootTime::FromNanos(at), ClockChange{WallOffset(Nanos(at))}};
}

inline std::string Encoded(const std::vector<Input>& inputs) {
  std::string out;
  for (const Input& input : inputs) AppendInput(input, out);
  return out;
}

// What a file holds. Its lock is given up again.
inline std::vector<Input> Kept(const std::string& folder) {
  std::vector<Input> out;
  const auto file = StateFile::Open(folder, kOwner);
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  if (!file.ok()) return out;
  const absl::Status read = (*file)->Read([&](const Input& input) {
    out.push_back(input);
    return absl::OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read.ToString();
  return out;
}

}  // namespace phantomd::testing
