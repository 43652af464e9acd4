// RecordingSink is the recording as the writer thread's sink: it writes, says once when the
// recording had to end, and tells anyone who asks how it stands.
//
// Write() and Flush() belong to the writer thread; stats() is thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/base/published.h"
#include "agent/recording/writer.h"
#include "agent/recording/writer_thread.h"

namespace phantomd {

struct RecordingStats {
  uint64_t written = 0;  // inputs that the system has taken
  uint64_t lost = 0;     // inputs that came after the recording had to end
  std::string error;     // why it had to end, one sentence; empty: it goes on
};

class RecordingSink : public InputSink {
 public:
  explicit RecordingSink(std::unique_ptr<RecordWriter> writer) : writer_(std::move(writer)) {}

  void Write(const Input& input) override { writer_->Append(input); }
  void Flush() override;

  RecordingStats stats() const { return *stats_.Get(); }

 private:
  const std::unique_ptr<RecordWriter> writer_;
  bool said_ = false;
  Published<RecordingStats> stats_;
};

}  // namespace phantomd
