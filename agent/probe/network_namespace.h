// The network namespaces of other processes.
//
// A namespace is named by its cookie, which the kernel never uses again (the inode number in
// /proc/PID/ns/net it does). The cookie is read from a socket made inside the namespace, on a
// thread of its own that enters it: the calling thread stays where it is. Nothing that would keep
// the namespace alive is left open.
//
// Thread-safe: what is here holds nothing.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace phantomd {

// Injected where discovery is tested without processes.
class NamespaceReader {
 public:
  virtual ~NamespaceReader() = default;
  // NotFound: the process is gone. PermissionDenied: not ours to look at. ResourceExhausted: no
  // thread to look with.
  virtual absl::StatusOr<uint64_t> CookieOf(const std::string& netns_path) = 0;
};

// A descriptor of the namespace that a socket of another process is in; the caller closes it. The
// socket is held for a moment: better one that listens than one whose close would be put off.
// FailedPrecondition: the descriptor is another socket's by now.
absl::StatusOr<int> OpenNamespaceOfSocket(uint32_t process_id, uint32_t fd, uint64_t netns_cookie);

// Thread-safe.
class SystemNamespaceReader : public NamespaceReader {
 public:
  absl::StatusOr<uint64_t> CookieOf(const std::string& netns_path) override;
};

}  // namespace phantomd
