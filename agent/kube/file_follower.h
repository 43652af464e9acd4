// FileFollower reads a file as it grows, and notices when it is no longer the file that was read.
//
// A file is replaced when its path names another file or none, when it became shorter than what
// was read, or when the last bytes that were read are no longer there (cut and written again
// between two looks). What the old file still holds is read before that is told; the next step then
// begins with the first byte of the new one.
//
// Never waits. Thread-compatible.
#pragma once

#include <cstdint>
#include <string>

namespace phantomd {

class FileFollower {
 public:
  enum class Found {
    kBytes,     // more of the file
    kEnd,       // nothing new
    kReplaced,  // trouble() says how
    kMissing,   // trouble() says why it cannot be read
  };

  explicit FileFollower(std::string path) : path_(std::move(path)) {}
  ~FileFollower() { Close(); }
  FileFollower(const FileFollower&) = delete;
  FileFollower& operator=(const FileFollower&) = delete;

  // Puts what it read, at most kStepBytes, into `bytes` in place of what was there.
  Found Step(std::string& bytes);

  const std::string& path() const { return path_; }
  const std::string& trouble() const { return trouble_; }  // one sentence about the last step

  static constexpr size_t kStepBytes = 256 << 10;

 private:
  bool Open();
  void Close();
  Found Replaced(const char* how);

  const std::string path_;
  int fd_ = -1;
  int64_t offset_ = 0;  // of what comes next
  std::string tail_;    // the last bytes before `offset_`
  std::string trouble_;
};

}  // namespace phantomd
