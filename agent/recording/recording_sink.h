// RecordingSink is the recording as one of the sinks of what the engine is told: it writes, says
// once when the recording had to end, and tells anyone who asks how it stands.
//
// A recording has one export, at its beginning; it passes over later ones. For the writer's thread;
// stats() is thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "agent/base/published.h"
#include "agent/engine/input_sink.h"
#include "agent/recording/writer.h"

namespace phantomd {

struct RecordingStats {
  uint64_t written = 0;  // inputs that the system has taken
  uint64_t lost = 0;     // inputs that came after the recording had to end
  std::string error;     // why it had to end, one sentence; empty: it goes on
};

class RecordingSink : public InputSink {
 public:
  explicit RecordingSink(std::unique_ptr<RecordWriter> writer) : writer_(std::move(writer)) {}

  void BeginExport() override { passing_over_ = begun_; }
  void EndExport() override { passing_over_ = false; }
  void Write(const Input& input) override;
  void Flush() override;

  RecordingStats stats() const { return *stats_.Get(); }

 private:
  const std::unique_ptr<RecordWriter> writer_;
  bool begun_ = false;
  bool passing_over_ = false;  // a later export
  bool said_ = false;
  Published<RecordingStats> stats_;
};

}  // namespace phantomd
