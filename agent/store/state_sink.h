// StateSink keeps what the engine is told in a StateFile, behind the engine.
//
// The file grows with every input, until it holds much more than an export would: then a new export
// is wished for, which takes the place of all. So it stays below three exports and 32 MiB, twice as
// much on disk while one is being replaced.
//
// A write that fails (a full disk) ends the keeping, for what follows a hole is of no use; what was
// kept before stays. A minute later the file is opened anew and an export wished for. stats() says
// so meanwhile.
//
// For the writer's thread, but for stats() and TakeWish(), which any may call.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "agent/base/clock.h"
#include "agent/base/published.h"
#include "agent/engine/input_sink.h"
#include "agent/store/state_file.h"

namespace phantomd {

struct StateStats {
  std::string error;  // why nothing is kept at the moment, one sentence; empty: it is

  friend bool operator==(const StateStats&, const StateStats&) = default;
};

struct StateSinkOptions {
  std::string folder;
  StateOwner owner;
  uint64_t least_tail = 32 << 20;                // bytes behind an export that are never too many
  Nanos retry_after = std::chrono::seconds(60);  // a failure
};

class StateSink : public InputSink {
 public:
  // `file`: of the same folder and owner. The first that it gets must be an export.
  StateSink(StateSinkOptions options, std::unique_ptr<StateFile> file, const Clock& clock);
  // There is no room for a file now: it is tried again.
  StateSink(StateSinkOptions options, const absl::Status& no_room, const Clock& clock);

  void BeginExport() override;
  void EndExport() override;
  void Write(const Input& input) override;
  void Commit() override;
  // Commits; the agent ends here.
  void End();

  // True once for each wish: an export should follow.
  bool TakeWish() { return wish_.exchange(false); }
  StateStats stats() const { return *stats_.Get(); }

 private:
  void AppendBuffer();
  void Settle(bool ended);
  void TryAgain();
  void Fail(const absl::Status& status);

  const StateSinkOptions options_;
  const Clock& clock_;
  std::unique_ptr<StateFile> file_;  // null: it failed
  BootTime retry_at_;                // then
  std::string buffer_;
  bool has_export_ = false;  // what is written now follows one, or is part of it
  bool in_export_ = false;
  uint64_t export_bytes_ = 0;
  uint64_t tail_bytes_ = 0;  // behind it
  std::atomic<bool> wish_{false};
  Published<StateStats> stats_;
};

}  // namespace phantomd
