// A fuzzer's entry over its corpus: what once was found stays found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

std::string BytesOf(const std::filesystem::path& path) {
  std::ostringstream bytes;
  bytes << std::ifstream(path, std::ios::binary).rdbuf();
  return bytes.str();
}

TEST(FuzzCorpusTest, EverySampleKeepsThePromises) {
  const char* folder = std::getenv("PHANTOMD_CORPUS");
  ASSERT_NE(folder, nullptr);
  size_t samples = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    SCOPED_TRACE(entry.path().string());
    const std::string bytes = BytesOf(entry.path());
    const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
    ++samples;
    EXPECT_EQ(LLVMFuzzerTestOneInput(data, bytes.size()), 0);
    // Cut anywhere, it is another input.
    for (size_t cut = 0; cut < bytes.size(); cut += std::max<size_t>(1, bytes.size() / 4)) {
      EXPECT_EQ(LLVMFuzzerTestOneInput(data, cut), 0) << "cut at " << cut;
    }
  }
  EXPECT_GE(samples, 8u);
}

}  // namespace
