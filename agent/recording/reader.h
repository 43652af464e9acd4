// RecordingReader reads the inputs of a recording, from a file or a pipe.
//
// Nothing is trusted. A recording that stops inside a record yields every input before the cut, and
// truncated() then says where; a record that cannot be one, a second Header, or a format version
// that this program does not know is an error that names the offset of the record at fault, and the
// end of what can be read. Without a whole Header nothing can be replayed: that is an error too.
//
//   while (true) {
//     absl::StatusOr<std::optional<Input>> input = reader->Next();
//     if (!input.ok()) return input.status();
//     if (!*input) break;                              // the end
//     engine.Apply(**input);
//   }
//   if (reader->truncated()) Say(reader->truncation());
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/engine/input.h"

namespace phantomd {

class RecordingReader {
 public:
  // "-" is standard input.
  static absl::StatusOr<std::unique_ptr<RecordingReader>> Open(const std::string& path);

  // Takes over `fd`; `name` is what sentences call it.
  RecordingReader(int fd, std::string name);
  ~RecordingReader();
  RecordingReader(const RecordingReader&) = delete;
  RecordingReader& operator=(const RecordingReader&) = delete;

  // The next input, or nothing at the end. An error repeats.
  absl::StatusOr<std::optional<Input>> Next();

  bool truncated() const { return !truncation_.empty(); }
  const std::string& truncation() const { return truncation_; }  // one sentence; empty: not cut

 private:
  absl::StatusOr<std::optional<Input>> NextRecord();
  // Decodes the `length` bytes at `at_`.
  absl::StatusOr<Input> Decode(size_t length);
  // Makes `wanted` bytes available at `at_`, or as many as there are.
  absl::Status Fill(size_t wanted);
  size_t available() const { return buffer_.size() - at_; }
  // The recording ends inside the record at hand.
  absl::StatusOr<std::optional<Input>> Truncated();
  absl::Status Rubbish(std::string_view what) const;

  const int fd_;
  const std::string name_;
  std::string buffer_;
  size_t at_ = 0;               // in `buffer_`: what comes next
  uint64_t record_offset_ = 0;  // in the recording: where the record at hand begins
  uint64_t inputs_ = 0;
  absl::Status status_;
  std::string truncation_;
};

}  // namespace phantomd
