// recording_generator --attempts N: writes a recording of so many attempts in a steady world to
// standard output, of any length in bounded memory.
//
//   recording_generator --attempts 100000000 | phantomctl replay - -o json
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "agent/base/strings.h"
#include "agent/recording/writer.h"
#include "tests/recording/steady_world.h"

int main(int argc, char** argv) {
  uint64_t attempts = 0;
  if (argc == 3 && std::string_view(argv[1]) == "--attempts") {
    std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), attempts);
  }
  if (attempts == 0) {
    fmt::print(stderr, "usage: {} --attempts N\n", argv[0]);
    return 2;
  }
  phantomd::RecordWriter writer(dup(STDOUT_FILENO), "standard output");
  const uint64_t judged = phantomd::testing::PlaySteadyWorld(
      attempts, [&](const phantomd::Input& input) { writer.Append(input); });
  writer.Flush();
  if (!writer.status().ok()) {
    fmt::print(stderr, "{}\n", phantomd::FromAbsl(writer.status().message()));
    return 1;
  }
  fmt::print(stderr, "{} attempts, {} of them to be judged\n", attempts, judged);
  return 0;
}
