#include "agent/cmd/ctl/output.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace phantomd {

void PrintOut(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (!written || std::fflush(stdout) != 0) std::_Exit(kAnswerIsAnError);
}

void PrintError(std::string_view sentence) {
  std::fprintf(stderr, "phantomctl: %.*s\n", static_cast<int>(sentence.size()), sentence.data());
}

std::string ReasonOf(const grpc::Status& status) {
  if (!status.error_message().empty()) return status.error_message();
  return fmt::format("it and phantomctl do not understand each other (gRPC code {})",
                     static_cast<int>(status.error_code()));
}

}  // namespace phantomd
