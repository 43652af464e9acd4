#include "agent/cmd/ctl/commands.h"
#include "agent/cmd/ctl/output.h"
#include "agent/cmd/ctl/replay.h"

namespace phantomd {
namespace {

int Fail(const absl::Status& status) {
  PrintError(FromAbsl(status.message()));
  return kAnswerIsAnError;
}

}  // namespace

int CommandReplay(const CommandOptions& options) {
  std::string truncation;
  if (options.verdicts) {
    const auto replayed = ReplayVerdicts(options.recording, [](const auto& connection) {
      PrintOut(MessageToJson(connection, JsonStyle::kLine) + "\n");
    });
    if (!replayed.ok()) return Fail(replayed.status());
    truncation = *replayed;
  } else {
    const auto replayed = ReplayReport(options.recording);
    if (!replayed.ok()) return Fail(replayed.status());
    PrintOut(Render(replayed->report, options.format));
    truncation = replayed->truncation;
  }
  if (!truncation.empty()) PrintError(truncation);
  return kDone;
}

}  // namespace phantomd
