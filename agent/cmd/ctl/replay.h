// Replay: a recording through the same engine, on the recording's own clock. The same file always
// gives the same report.
//
// A recording that was cut off is replayed up to the cut, which `truncation` then tells.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "phantom/v1/query.pb.h"

namespace phantomd {

struct ReplayedReport {
  phantom::v1::Report report;
  std::string truncation;  // one sentence; empty: the recording is whole
};

// `path` "-" is standard input.
absl::StatusOr<ReplayedReport> ReplayReport(const std::string& path);

// Every judged attempt in the order of judgement, LIVE and EXTERNAL ones too. Returns the
// truncation. The recording is read twice (a connection names its rollout, which may be settled
// only later); standard input is kept in memory for that.
absl::StatusOr<std::string> ReplayVerdicts(
    const std::string& path, const std::function<void(const phantom::v1::Connection&)>& verdict);

}  // namespace phantomd
