#include "tests/base/temporary_folder.h"

#include <sys/wait.h>

#include <string>

namespace phantomd::testing {
namespace {

namespace fs = std::filesystem;

pid_t EndedProcess() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(TempFolderTest, FolderGoesWithEverythingInIt) {
  std::string path;
  {
    const TempFolder folder;
    path = folder.path();
    fs::create_directory(folder / "sub");
    std::ofstream(folder / "sub/file") << "x";
    EXPECT_TRUE(fs::exists(path));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST(TempFolderTest, OnlyFoldersOfEndedProcessesAreOrphans) {
  const TempFolder parent;
  const std::string ended = std::to_string(EndedProcess());
  const std::string orphan = parent / ("phantomd-test-" + ended + "-AbCdEf");
  const std::string kept[] = {
      parent / ("phantomd-test-" + std::to_string(getpid()) + "-AbCdEf"),
      parent / ("phantomd-demo-" + ended + "-AbCdEf"),
      parent / ("phantomd-test-" + ended),
      parent / "phantomd-test-AbCdEf",
      parent / "phantomd-test-0-AbCdEf",
  };
  fs::create_directories(orphan + "/sub");
  for (const std::string& path : kept) fs::create_directory(path);
  TempFolder::RemoveOrphans(parent.path());
  EXPECT_FALSE(fs::exists(orphan));
  for (const std::string& path : kept) EXPECT_TRUE(fs::exists(path)) << path;
}

}  // namespace
}  // namespace phantomd::testing
