#include "agent/store/state_file.h"

#include <gmock/gmock.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>

#include "tests/base/temporary_folder.h"
#include "tests/store/state_inputs.h"

namespace phantomd {
namespace {

using testing::Encoded;
using testing::EveryInput;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::Kept;
using testing::kOwner;
using testing::Tick;

class StateFileTest : public testing::TemporaryFolder {
 protected:
  std::unique_ptr<StateFile> Open() const {
    auto file = StateFile::Open(path(), kOwner);
    EXPECT_TRUE(file.ok()) << file.status().ToString();
    return *std::move(file);
  }
  void Keep(const std::vector<Input>& inputs) const {
    const auto file = Open();
    ASSERT_TRUE(file->Replace().ok());
    ASSERT_TRUE(file->Append(Encoded(inputs)).ok());
    ASSERT_TRUE(file->Commit(false).ok());
  }
  // What is wrong with what is there, found when it is opened or read.
  std::string Trouble(const StateOwner& owner = kOwner) const {
    auto file = StateFile::Open(path(), owner);
    const absl::Status status =
        file.ok() ? (*file)->Read([](const Input&) { return absl::OkStatus(); }) : file.status();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status.ToString();
    }
    return std::string(status.message());
  }
  // As a stranger would change it.
  void Change(const std::string& sql) const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(PathOf("state.db").c_str(), &database), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(database);
  }
};

TEST_F(StateFileTest, KeepsEveryKindOfInputInOrder) {
  Keep(EveryInput());
  EXPECT_EQ(Kept(path()), EveryInput());
}

TEST_F(StateFileTest, ANewOneHoldsNothing) { EXPECT_THAT(Kept(PathOf("a/b")), IsEmpty()); }

TEST_F(StateFileTest, OnlyItsOwnerReadsIt) {
  Keep({Tick(1)});
  using std::filesystem::perms;
  const perms granted = std::filesystem::status(PathOf("state.db")).permissions();
  EXPECT_EQ(granted & (perms::group_all | perms::others_all), perms::none);
}

TEST_F(StateFileTest, WhatIsNotCommittedHasNotHappened) {
  Keep({Tick(1), Tick(2)});
  {
    const auto file = Open();
    ASSERT_TRUE(file->Replace().ok());
    ASSERT_TRUE(file->Append(Encoded({Tick(3)})).ok());
  }
  EXPECT_EQ(Kept(path()), (std::vector<Input>{Tick(1), Tick(2)}));
}

TEST_F(StateFileTest, AppendsBehindWhatIsThereAndReplacesAllOfIt) {
  const auto file = Open();
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(file->Append(Encoded({Tick(i)})).ok());
    ASSERT_TRUE(file->Commit(false).ok());
  }
  ASSERT_TRUE(file->Replace().ok());
  ASSERT_TRUE(file->Append(Encoded({Tick(7)})).ok());
  ASSERT_TRUE(file->Commit(false).ok());
  ASSERT_TRUE(file->Append(Encoded({Tick(8)})).ok());
  ASSERT_TRUE(file->Commit(false).ok());
  std::vector<Input> read;
  ASSERT_TRUE(file->Read([&](const Input& input) {
                    read.push_back(input);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(read, (std::vector<Input>{Tick(7), Tick(8)}));
}

TEST_F(StateFileTest, TellsWhetherItsAgentCameToAnEnd) {
  {
    const auto file = Open();
    ASSERT_TRUE(file->Append(Encoded({Tick(1)})).ok());
    ASSERT_TRUE(file->Commit(/*ended=*/true).ok());
  }
  {
    const auto file = Open();
    EXPECT_TRUE(file->ended());
    ASSERT_TRUE(file->Replace().ok());
    ASSERT_TRUE(file->Append(Encoded({Tick(2)})).ok());
    ASSERT_TRUE(file->Commit(/*ended=*/false).ok());
  }
  EXPECT_FALSE(Open()->ended());
}

TEST_F(StateFileTest, AnErrorOfTheReaderEndsTheReading) {
  Keep({Tick(1), Tick(2), Tick(3)});
  int told = 0;
  const absl::Status status = Open()->Read(
      [&](const Input&) { return ++told == 2 ? absl::AbortedError("enough") : absl::OkStatus(); });
  EXPECT_EQ(status, absl::AbortedError("enough"));
  EXPECT_EQ(told, 2);
}

TEST_F(StateFileTest, ASecondAgentIsTurnedAway) {
  Keep({Tick(1)});
  const auto first = Open();
  const auto second = StateFile::Open(path(), kOwner);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(
      std::string(second.status().message()),
      "cannot keep the state in " + PathOf("state.db") + ": another agent keeps its own there");
}

TEST_F(StateFileTest, WhoIsAnotherCannotGoOnFromIt) {
  Keep({Tick(1)});
  StateOwner other = kOwner;
  other.boot_id = "boot-2";
  EXPECT_EQ(Trouble(other), "the state in " + PathOf("state.db") +
                                " is of another boot of this machine: \"boot-1\", and this is "
                                "\"boot-2\"");
  other = kOwner;
  other.node_name = "n2";
  EXPECT_THAT(Trouble(other), HasSubstr("is of another Node: \"n1\", and this is \"n2\""));
  other = kOwner;
  other.feed = "cluster";
  EXPECT_THAT(Trouble(other), HasSubstr("is of another feed"));
}

TEST_F(StateFileTest, LaterVersionsAndOtherDatabasesAreNamed) {
  Keep({Tick(1)});
  Change("PRAGMA user_version = 2");
  EXPECT_EQ(Trouble(), "the state in " + PathOf("state.db") +
                           " has the version 2, and this agent knows 1 alone");
  Change("PRAGMA application_id = 7");
  EXPECT_THAT(Trouble(), HasSubstr("it is another program's database"));
}

TEST_F(StateFileTest, WhatIsMissingOrFalseWithinIsNamed) {
  Keep({Tick(1)});
  Change("UPDATE chunk SET checksum = checksum + 1");
  EXPECT_THAT(Trouble(), HasSubstr("the checksum of chunk 1 is wrong"));
  Change("UPDATE chunk SET number = 2");
  EXPECT_THAT(Trouble(), HasSubstr("chunk 2 follows chunk 0"));
  Change("UPDATE chunk SET number = 1, checksum = 0, inputs = x''");  // CRC-32 of nothing is 0
  EXPECT_EQ(Trouble(), "");
  Change("DELETE FROM fact WHERE name = 'boot'");
  EXPECT_THAT(Trouble(), HasSubstr("it does not tell its boot"));
  Change("DROP TABLE fact");
  EXPECT_NE(Trouble(), "");
}

TEST_F(StateFileTest, AWholeChunkThatHoldsNoInputsIsNamed) {
  for (const std::string& inputs : {std::string("\x05zz", 3), std::string("\x02\x08\x05\x09", 4),
                                    std::string("\xff\xff\xff\xff\xff\xff", 6)}) {
    const auto file = Open();
    ASSERT_TRUE(file->Replace().ok());
    ASSERT_TRUE(file->Append(inputs).ok());
    ASSERT_TRUE(file->Commit(false).ok());
    const absl::Status read = file->Read([](const Input&) { return absl::OkStatus(); });
    EXPECT_THAT(std::string(read.message()), HasSubstr("chunk 1 holds something else than inputs"));
  }
}

// Whatever happens to the bytes: it is read as it was, or it is said that it cannot be.
TEST_F(StateFileTest, DamageIsFoundOrHarmless) {
  std::vector<Input> inputs = EveryInput();
  for (int i = 0; i < 400; ++i) inputs.push_back(Tick(1'000'000 + i));
  Keep(inputs);
  const std::string whole = ReadBytes(PathOf("state.db"));
  std::mt19937 random(7);
  int found = 0;
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    if (i % 3 == 0) {
      bytes.resize(std::uniform_int_distribution<size_t>(0, whole.size() - 1)(random));
    } else {
      for (int flips = 0; flips < 3; ++flips) {
        bytes[std::uniform_int_distribution<size_t>(0, whole.size() - 1)(random)] ^=
            static_cast<char>(1 << (random() % 8));
      }
    }
    Write("state.db", bytes);
    std::vector<Input> read;
    auto file = StateFile::Open(path(), kOwner);
    absl::Status status = file.status();
    if (file.ok()) {
      status = (*file)->Read([&](const Input& input) {
        read.push_back(input);
        return absl::OkStatus();
      });
    }
    if (status.ok()) {
      EXPECT_TRUE(read.empty() ? bytes.empty() : read == inputs) << "damage " << i;
    } else {
      EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status.ToString();
      ++found;
    }
  }
  EXPECT_GT(found, 100);
}

TEST_F(StateFileTest, RubbishIsSetAsideInPlaceOfTheLastAndANewOneBegins) {
  for (const std::string& rubbish : {std::string(5'000, 'x'), std::string(9'000, 'y')}) {
    Write("state.db", rubbish);
    EXPECT_THAT(Trouble(), HasSubstr("is damaged: file is not a database"));
    ASSERT_TRUE(StateFile::SetAside(path()).ok());
    EXPECT_EQ(ReadBytes(PathOf("state.db.unusable")), rubbish);
    EXPECT_THAT(Kept(path()), IsEmpty());
  }
}

TEST_F(StateFileTest, WhatIsSetAsideKeepsItsLog) {
  Write("state.db", "x");
  Write("state.db-wal", "log");
  Write("state.db.unusable-wal", "old");
  ASSERT_TRUE(StateFile::SetAside(path()).ok());
  EXPECT_EQ(ReadBytes(PathOf("state.db.unusable-wal")), "log");
  EXPECT_FALSE(std::filesystem::exists(PathOf("state.db-wal")));
  Write("state.db", "y");
  ASSERT_TRUE(StateFile::SetAside(path()).ok());
  EXPECT_FALSE(std::filesystem::exists(PathOf("state.db.unusable-wal"))) << "it is of another";
}

TEST_F(StateFileTest, AFolderThatCannotBeIsOneSentence) {
  Write("file", "");
  const auto file = StateFile::Open(PathOf("file/state"), kOwner);
  EXPECT_EQ(file.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(file.status().message()),
              HasSubstr("cannot keep the state in " + PathOf("file/state/state.db") + ": "));
}

// An agent that is killed at any instant leaves the state of one of its commits, whole.
TEST_F(StateFileTest, SurvivesBeingKilledAtAnyInstant) {
  for (int round = 0; round < 40; ++round) {
    int pipe_ends[2];
    ASSERT_EQ(pipe(pipe_ends), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto file = StateFile::Open(path(), kOwner);
      if (!file.ok()) _exit(1);
      int64_t at = 0;
      while (true) {
        // Ticks 0, 1, 2, ... from the last replacement on, each commit with one more.
        if (at % 50 == 0 && !(*file)->Replace().ok()) _exit(1);
        for (int64_t t = at % 50 == 0 ? 0 : at; t <= at; ++t) {
          if (!(*file)->Append(Encoded({Tick(t)})).ok()) _exit(1);
        }
        if (!(*file)->Commit(false).ok()) _exit(1);
        // From here on the state holds at least this.
        if (write(pipe_ends[1], &at, sizeof(at)) != sizeof(at)) _exit(1);
        ++at;
      }
    }
    close(pipe_ends[1]);
    int64_t told = -1;
    for (int i = 0; i <= round * 7; ++i) {
      ASSERT_EQ(read(pipe_ends[0], &told, sizeof(told)), static_cast<ssize_t>(sizeof(told)));
    }
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    while (read(pipe_ends[0], &told, sizeof(told)) > 0) {
    }
    close(pipe_ends[0]);
    const std::vector<Input> kept = Kept(path());
    ASSERT_FALSE(kept.empty());
    for (size_t i = 0; i < kept.size(); ++i) {
      ASSERT_EQ(kept[i], Tick(static_cast<int64_t>(i))) << "round " << round;
    }
    const int64_t last = static_cast<int64_t>(kept.size()) - 1;
    EXPECT_TRUE(last == told || last == told + 1) << last << " after " << told;
  }
}

}  // namespace
}  // namespace phantomd
