#include "agent/recording/recording_sink.h"

#include <spdlog/spdlog.h>

#include "agent/base/strings.h"

namespace phantomd {

void RecordingSink::Write(const Input& input) {
  if (passing_over_) return;
  begun_ = true;
  writer_->Append(input);
}

void RecordingSink::Flush() {
  writer_->Flush();
  const std::string error(FromAbsl(writer_->status().message()));
  if (!error.empty() && !said_) {
    said_ = true;
    spdlog::error("{}", error);
  }
  stats_.Set(std::make_shared<const RecordingStats>(
      RecordingStats{writer_->written(), writer_->lost(), error}));
}

}  // namespace phantomd
