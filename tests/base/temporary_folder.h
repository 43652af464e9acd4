// A folder for the files of one test, removed with everything in it.
//
// TempFolder is a member of whatever needs one; TemporaryFolder is a fixture that has one. A test
// that is killed leaves its folder; it is named after the process, so that a later test finds it
// orphaned and removes it.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

#include "gtest/gtest.h"

namespace phantomd::testing {

class TempFolder {
 public:
  TempFolder() {
    RemoveOrphans(Parent());
    std::string pattern = Parent() / (kPrefix + std::to_string(getpid()) + "-XXXXXX");
    if (mkdtemp(pattern.data()) == nullptr) ADD_FAILURE() << "no temporary folder at " << pattern;
    path_ = pattern;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }

  // Removes the folders of processes that have ended.
  static void RemoveOrphans(const std::filesystem::path& parent) {
    std::error_code ignored;  // others may be at it, or it may be another user's
    for (const auto& entry : std::filesystem::directory_iterator(parent, ignored)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kPrefix)) continue;
      const std::string_view rest = std::string_view(name).substr(kPrefix.size());
      pid_t pid = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
      if (error != std::errc() || end == rest.data() + rest.size() || *end != '-') continue;
      if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) {
        std::filesystem::remove_all(entry.path(), ignored);
      }
    }
  }

 private:
  static inline const std::string kPrefix = "phantomd-test-";
  static std::filesystem::path Parent() { return std::filesystem::temp_directory_path(); }

  std::filesystem::path path_;
};

class TemporaryFolder : public ::testing::Test {
 protected:
  std::string PathOf(const std::string& name) const { return folder_ / name; }
  std::string path() const { return folder_.path(); }

  std::string Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(PathOf(name), std::ios::binary) << bytes;
    return PathOf(name);
  }

  static std::string ReadBytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

 private:
  const TempFolder folder_;
};

}  // namespace phantomd::testing
