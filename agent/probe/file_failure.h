// What a file, socket or namespace that cannot be read says about the process it belongs to.
#pragma once

#include <absl/status/status.h>

#include <string>

namespace phantomd {

// "what: text of errno". PermissionDenied: this agent may not look. ResourceExhausted: the agent is
// out of descriptors or memory, which says nothing about the process. NotFound: anything else.
absl::Status FileFailure(const std::string& what, int error);

}  // namespace phantomd
