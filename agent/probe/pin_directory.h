// PinDirectory: where the kernel keeps maps and programs for the next agent, so that a restart
// neither loses a connect nor tells one twice.
//
//   <dir>/layout<version>/<map>            libbpf creates or finds them when it loads
//   <dir>/layout<version>/links/<hook>     the attached programs
//
// How one agent follows another. The new one loads its programs with the old one's maps and
// attaches them beside the old programs; whatever has happened is recorded by whichever of the two
// sees it first, because the socket's own storage says what has been recorded. Where there is no
// storage, the generation in the map agent_state says whose turn it is, and changes at one instant.
// Then the old programs are dropped: Replace() lets each new link take the old one's name, and
// removes what is left over, other layouts included.
//
// Example: agent 1 pins tcp_receive_reset and is killed; its program goes on. Agent 2 pins
// tcp_receive_reset-new, takes its turn, and renames it: agent 1's program is gone.
//
// The directory lies on a BPF file system, whose names may hold no dots. It is locked while an
// agent lives: two readers of one ring would each see half. Thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct bpf_link;

namespace phantomd {

class PinDirectory {
 public:
  // Creates and locks it. FailedPrecondition: not on a BPF file system, or another agent's.
  static absl::StatusOr<std::unique_ptr<PinDirectory>> Open(const std::string& path);
  ~PinDirectory();
  PinDirectory(const PinDirectory&) = delete;
  PinDirectory& operator=(const PinDirectory&) = delete;

  std::string MapPath(const std::string& map) const { return layout_ + "/" + map; }
  // Whether an earlier agent has left its maps.
  bool HasMap(const std::string& map) const;
  // Of the earlier agent; the caller closes the descriptor. -1: it left none.
  int OpenLink(const std::string& hook) const;

  absl::Status PinBeside(bpf_link* link, const std::string& hook);
  // `hooks`: all that were pinned beside.
  absl::Status Replace(const std::vector<std::string>& hooks);

  // Removes all that any version has pinned there, and the directory. Nothing there is no error.
  static absl::Status Remove(const std::string& path);

 private:
  explicit PinDirectory(std::string path);

  const std::string path_;
  const std::string layout_;
  int lock_ = -1;
};

}  // namespace phantomd
