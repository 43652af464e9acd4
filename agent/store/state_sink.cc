#include "agent/store/state_sink.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "agent/base/strings.h"

namespace phantomd {
namespace {

constexpr size_t kChunkBytes = 1 << 20;

}  // namespace

StateSink::StateSink(StateSinkOptions options, std::unique_ptr<StateFile> file, const Clock& clock)
    : options_(std::move(options)), clock_(clock), file_(std::move(file)) {}

StateSink::StateSink(StateSinkOptions options, const absl::Status& no_room, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {
  Fail(no_room);
}

void StateSink::BeginExport() {
  in_export_ = true;
  buffer_.clear();
  export_bytes_ = tail_bytes_ = 0;
  has_export_ = false;
  if (file_ == nullptr) return;
  if (const absl::Status status = file_->Replace(); !status.ok()) return Fail(status);
  has_export_ = true;
}

void StateSink::EndExport() {
  in_export_ = false;
  AppendBuffer();
  export_bytes_ = std::exchange(tail_bytes_, 0);
}

void StateSink::Write(const Input& input) {
  if (file_ == nullptr || !has_export_) return;
  AppendInput(input, buffer_);
  if (buffer_.size() >= kChunkBytes) AppendBuffer();
}

void StateSink::AppendBuffer() {
  if (file_ == nullptr || buffer_.empty()) return;
  tail_bytes_ += buffer_.size();
  if (const absl::Status status = file_->Append(buffer_); !status.ok()) return Fail(status);
  buffer_.clear();
}

void StateSink::Commit() {
  if (file_ == nullptr) return TryAgain();
  Settle(/*ended=*/false);
  if (file_ != nullptr && tail_bytes_ > std::max(options_.least_tail, 2 * export_bytes_)) {
    tail_bytes_ = 0;  // one wish
    wish_ = true;
  }
}

void StateSink::End() {
  if (file_ != nullptr) Settle(/*ended=*/true);
}

void StateSink::Settle(bool ended) {
  // Half an export is a state that nobody was ever in.
  if (!has_export_ || in_export_) return;
  AppendBuffer();
  if (file_ == nullptr) return;
  if (const absl::Status status = file_->Commit(ended); !status.ok()) return Fail(status);
  if (stats_.Get()->error.empty()) return;
  spdlog::info("the state is kept again in {}", file_->path());
  stats_.Set(std::make_shared<const StateStats>());
}

void StateSink::TryAgain() {
  if (clock_.Now() < retry_at_) return;
  absl::StatusOr<std::unique_ptr<StateFile>> file =
      StateFile::Open(options_.folder, options_.owner);
  if (absl::IsDataLoss(file.status())) {
    spdlog::warn("{}; it is set aside", FromAbsl(file.status().message()));
    if (const absl::Status aside = StateFile::SetAside(options_.folder); !aside.ok()) {
      return Fail(aside);
    }
    file = StateFile::Open(options_.folder, options_.owner);
  }
  if (!file.ok()) return Fail(file.status());
  file_ = *std::move(file);
  wish_ = true;
}

void StateSink::Fail(const absl::Status& status) {
  file_.reset();
  has_export_ = false;
  buffer_.clear();
  retry_at_ = clock_.Now() + options_.retry_after;
  StateStats now{std::string(FromAbsl(status.message()))};
  if (now == *stats_.Get()) return;
  spdlog::error("{}", now.error);
  stats_.Set(std::make_shared<const StateStats>(std::move(now)));
}

}  // namespace phantomd
