// libFuzzer's entry to the reader of recordings: whatever the bytes, no crash; an error names the
// byte at fault and repeats; what was read can be written and reads the same again.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/base/check.h"
#include "agent/recording/reader.h"
#include "agent/recording/writer.h"

namespace phantomd::fuzz {
namespace {

int FileOf(std::string_view bytes) {
  const int fd = memfd_create("recording", MFD_CLOEXEC);
  PHANTOMD_CHECK(fd >= 0);
  PHANTOMD_CHECK(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  PHANTOMD_CHECK(lseek(fd, 0, SEEK_SET) == 0);
  return fd;
}

// Every input up to the end, the cut or the error.
std::vector<Input> ReadAll(RecordingReader& reader, absl::Status& status) {
  std::vector<Input> inputs;
  for (;;) {
    absl::StatusOr<std::optional<Input>> input = reader.Next();
    status = input.status();
    if (!status.ok() || !input->has_value()) return inputs;
    inputs.push_back(**std::move(input));
  }
}

}  // namespace
}  // namespace phantomd::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace phantomd;
  using namespace phantomd::fuzz;
  RecordingReader reader(FileOf({reinterpret_cast<const char*>(data), size}), "fuzz");
  absl::Status status;
  const std::vector<Input> inputs = ReadAll(reader, status);
  if (!status.ok()) {
    PHANTOMD_CHECK(status.message().find("at byte ") != absl::string_view::npos);
    PHANTOMD_CHECK(reader.Next().status() == status);
    PHANTOMD_CHECK(!reader.truncated() || inputs.empty());
  }
  if (inputs.empty()) return 0;

  const int fd = memfd_create("copy", MFD_CLOEXEC);
  PHANTOMD_CHECK(fd >= 0);
  const int again = dup(fd);
  {
    RecordWriter writer(fd, "copy");
    for (const Input& input : inputs) writer.Append(input);
    writer.Flush();
    PHANTOMD_CHECK(writer.status().ok() && writer.written() == inputs.size());
  }
  PHANTOMD_CHECK(lseek(again, 0, SEEK_SET) == 0);
  RecordingReader copy(again, "copy");
  PHANTOMD_CHECK(ReadAll(copy, status) == inputs);
  PHANTOMD_CHECK(status.ok() && !copy.truncated());
  return 0;
}
