// RecordWriter appends inputs to a recording, in the order given.
//
// The first input must be the Header. What is appended is buffered; Flush() hands it to the system.
// A write that fails (a full disk, a closed pipe) ends the recording for good: a regular file is
// cut back to its last whole record, and every input from the first that was not written is counted
// as lost. A recording with a hole in the middle would replay to a different report without saying
// so; one that ends early is what it seems.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/engine/input.h"

namespace phantomd {

class RecordWriter {
 public:
  // Creates or empties the file at `path`.
  static absl::StatusOr<std::unique_ptr<RecordWriter>> Create(const std::string& path);

  // Takes over `fd`; `name` is what error sentences call it.
  RecordWriter(int fd, std::string name);
  ~RecordWriter();  // flushes
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void Append(const Input& input);
  void Flush();

  // Why the recording ended, or OK while it goes on.
  const absl::Status& status() const { return status_; }
  uint64_t written() const { return written_; }  // inputs that the system has taken
  uint64_t lost() const { return lost_; }        // inputs that it has not, since the failure

 private:
  void Fail(std::string_view what);

  const int fd_;
  const std::string name_;
  absl::Status status_;
  std::string buffer_;
  uint64_t buffered_ = 0;  // inputs in `buffer_`
  uint64_t written_ = 0;
  uint64_t lost_ = 0;
  int64_t whole_bytes_ = 0;  // up to the last whole record that the system has taken
  bool begun_ = false;
};

}  // namespace phantomd
