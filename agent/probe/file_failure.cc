#include "agent/probe/file_failure.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace phantomd {

absl::Status FileFailure(const std::string& what, int error) {
  const std::string text = fmt::format("{}: {}", what, std::strerror(error));
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(text);
  if (error == EMFILE || error == ENFILE || error == ENOMEM) {
    return absl::ResourceExhaustedError(text);
  }
  return absl::NotFoundError(text);
}

}  // namespace phantomd
