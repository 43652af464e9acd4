#include "agent/kube/file_follower.h"

#include <sys/stat.h>

#include "gmock/gmock.h"
#include "tests/base/temporary_folder.h"

namespace phantomd {
namespace {

using Found = FileFollower::Found;
using ::testing::HasSubstr;

class FileFollowerTest : public testing::TemporaryFolder {
 protected:
  void Append(const std::string& name, const std::string& bytes) const {
    std::ofstream(PathOf(name), std::ios::binary | std::ios::app) << bytes;
  }
  // Everything up to the first step that finds no bytes; that step's result is in `found_`.
  std::string ReadAll(FileFollower& follower) {
    std::string out;
    std::string bytes;
    while ((found_ = follower.Step(bytes)) == Found::kBytes) out += bytes;
    EXPECT_EQ(bytes, "");
    return out;
  }

  Found found_ = Found::kEnd;
};

TEST_F(FileFollowerTest, FileIsReadAsItGrows) {
  FileFollower follower(PathOf("f"));
  EXPECT_EQ(ReadAll(follower), "");
  EXPECT_EQ(found_, Found::kMissing);
  EXPECT_THAT(follower.trouble(), HasSubstr(PathOf("f") + " cannot be read: No such file"));
  Write("f", "");
  EXPECT_EQ(ReadAll(follower), "");
  EXPECT_EQ(found_, Found::kEnd);
  Append("f", "one");
  EXPECT_EQ(ReadAll(follower), "one");
  Append("f", " two");
  EXPECT_EQ(ReadAll(follower), " two");
  EXPECT_EQ(ReadAll(follower), "");
  EXPECT_EQ(found_, Found::kEnd);
}

TEST_F(FileFollowerTest, LargeFileComesInSteps) {
  std::string whole;
  for (int i = 0; i < 200'000; ++i) whole += std::to_string(i);
  ASSERT_GT(whole.size(), 3 * FileFollower::kStepBytes);
  FileFollower follower(Write("f", whole));
  std::string bytes;
  ASSERT_EQ(follower.Step(bytes), Found::kBytes);
  EXPECT_EQ(bytes.size(), FileFollower::kStepBytes);
  EXPECT_EQ(bytes + ReadAll(follower), whole);
}

TEST_F(FileFollowerTest, ShorterFileIsAnother) {
  FileFollower follower(Write("f", "long content"));
  ReadAll(follower);
  Write("f", "short");
  EXPECT_EQ(ReadAll(follower), "");
  EXPECT_EQ(found_, Found::kReplaced);
  EXPECT_THAT(follower.trouble(), HasSubstr("became shorter"));
  EXPECT_EQ(ReadAll(follower), "short");
}

TEST_F(FileFollowerTest, FileCutAndWrittenLongerBetweenTwoLooksIsAnother) {
  FileFollower follower(Write("f", "old content"));
  ReadAll(follower);
  Write("f", "new content that is longer");
  EXPECT_EQ(ReadAll(follower), "");
  EXPECT_EQ(found_, Found::kReplaced);
  EXPECT_THAT(follower.trouble(), HasSubstr("was written anew"));
  EXPECT_EQ(ReadAll(follower), "new content that is longer");
}

TEST_F(FileFollowerTest, FileWrittenAnewAtTheSameLengthIsAnother) {
  FileFollower follower(Write("f", "old"));
  ReadAll(follower);
  Write("f", "new");
  EXPECT_EQ(ReadAll(follower), "");
  EXPECT_EQ(found_, Found::kReplaced);
  EXPECT_EQ(ReadAll(follower), "new");
}

TEST_F(FileFollowerTest, OldFileIsReadToItsEndBeforeItsSuccessor) {
  FileFollower follower(Write("f", "old"));
  ReadAll(follower);
  Append("f", " and its last words");
  Write("g", "new");
  std::filesystem::rename(PathOf("g"), PathOf("f"));
  EXPECT_EQ(ReadAll(follower), " and its last words");
  EXPECT_EQ(found_, Found::kReplaced);
  EXPECT_THAT(follower.trouble(), HasSubstr("was replaced by another file"));
  EXPECT_EQ(ReadAll(follower), "new");
}

TEST_F(FileFollowerTest, RemovedFileIsReplacedAndThenMissing) {
  FileFollower follower(Write("f", "old"));
  ReadAll(follower);
  std::filesystem::remove(PathOf("f"));
  EXPECT_EQ(ReadAll(follower), "");
  EXPECT_EQ(found_, Found::kReplaced);
  EXPECT_EQ(ReadAll(follower), "");
  EXPECT_EQ(found_, Found::kMissing);
  Write("f", "again");
  EXPECT_EQ(ReadAll(follower), "again");
}

TEST_F(FileFollowerTest, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(PathOf("fifo").c_str(), 0600), 0);
  for (const char* name : {"fifo", "."}) {
    FileFollower follower(PathOf(name));
    ReadAll(follower);
    EXPECT_EQ(found_, Found::kMissing);
    EXPECT_THAT(follower.trouble(), HasSubstr("is not a regular file"));
  }
}

}  // namespace
}  // namespace phantomd
