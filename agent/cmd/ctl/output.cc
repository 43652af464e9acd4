#include "agent/cmd/ctl/output.h"

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

}  // namespace phantomd
