// StateFile: what an engine knows, in one SQLite file, for the agent that starts next.
//
// The file holds one export and the inputs applied since, as phantom.v1.Input, in chunks with a
// checksum each. Only a whole commit is ever seen: an agent that is killed at any instant leaves
// the state of its last one. A replacement that was not committed has not happened.
//
//   FOLDER/state.db        the state; beside it SQLite's own state.db-wal while it is open
//   FOLDER/state.db.unusable   the last one that could not be used (SetAside)
//
// It belongs to one agent at a time: a second one is turned away (Unavailable, as where nothing can
// be written); a disk that is full or fails is ResourceExhausted. What is no state
// that this agent can go on from is DataLoss, with one sentence: a damaged file, a later version's,
// one of another boot (all instants are of CLOCK_BOOTTIME), another node or another feed.
//
// Thread-compatible.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/engine/input.h"

struct sqlite3;

namespace phantomd {

// Whose state it is. Whoever differs in one of them cannot go on from it.
struct StateOwner {
  std::string boot_id;    // of the kernel
  std::string node_name;  // of the Node
  std::string feed;       // where pods come from, and which: another cluster has other pods

  friend bool operator==(const StateOwner&, const StateOwner&) = default;
};

class StateFile {
 public:
  static constexpr int kVersion = 1;

  // Makes folder and file where there are none.
  static absl::StatusOr<std::unique_ptr<StateFile>> Open(const std::string& folder,
                                                         const StateOwner& owner);
  // Puts what is there out of the way, in place of what was put there before.
  static absl::Status SetAside(const std::string& folder);

  ~StateFile();  // what was not committed is lost
  StateFile(const StateFile&) = delete;
  StateFile& operator=(const StateFile&) = delete;

  // Every input that is kept, in order; none: nothing is kept. An error of `sink` ends it.
  // DataLoss: it is damaged; what was told until then counts for nothing.
  absl::Status Read(const std::function<absl::Status(const Input&)>& sink);
  // The agent that wrote it came to its end: nothing was told to it after what is kept.
  bool ended() const { return ended_; }

  // From here on, what is appended stands in place of all that is there.
  absl::Status Replace();
  // `inputs`: encoded by AppendInput(). After Replace(), or behind all that Read() has told.
  absl::Status Append(std::string_view inputs);
  // `ended`: nothing more will be appended.
  absl::Status Commit(bool ended);

  const std::string& path() const { return path_; }

 private:
  class Statement;

  StateFile(std::string path, sqlite3* database);

  absl::Status Prepare(const StateOwner& owner);
  absl::Status Create(const StateOwner& owner);
  absl::Status Check(const StateOwner& owner);
  absl::Status Begin();
  absl::Status Run(const std::string& sql);
  absl::StatusOr<int64_t> Number(const std::string& sql);
  absl::StatusOr<std::string> Fact(std::string_view name);
  absl::Status SetFact(std::string_view name, std::string_view value);
  // What SQLite said last.
  absl::Status Error(int code) const;
  std::string Said() const;
  absl::Status Damaged(std::string_view what) const;

  const std::string path_;
  sqlite3* const database_;
  bool in_transaction_ = false;
  int64_t chunks_ = 0;  // that are there, committed or not
  bool ended_ = false;
};

// Appends one input as a chunk holds it.
void AppendInput(const Input& input, std::string& out);

}  // namespace phantomd
