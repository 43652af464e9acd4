// A BPF file system of the test's own: in a mount namespace that this process alone has, so that it
// is gone with the process, and all that is pinned there with it.
#pragma once

#include <string>

namespace phantomd {

// Mounts it at the first call. The directory is removed when the process ends by itself.
const std::string& BpfFileSystem();

}  // namespace phantomd
