// `phantomctl replay -` takes a recording of any length from a pipe in bounded memory.
#include <fcntl.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>

#include "agent/recording/writer.h"
#include "phantom/v1/query.pb.h"
#include "tests/cmd/run_program.h"
#include "tests/recording/steady_world.h"

namespace phantomd {
namespace {

constexpr uint64_t kAttempts = 300'000;

// The most memory that the process ever had, in KiB.
int64_t HighWater(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("VmHWM:")) continue;
    const size_t digit = line.find_first_of("0123456789");
    int64_t kib = 0;
    std::from_chars(line.data() + digit, line.data() + line.size(), kib);
    return kib;
  }
  return 0;
}

// phantomctl with its standard input in our hand and its output in a file.
class Replaying {
 public:
  Replaying(std::vector<const char*> arguments, int out) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    input_ = ends[1];
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    const std::string path = testing::PathOf("phantomctl");
    std::vector<char*> argv;
    for (const char* argument : arguments) argv.push_back(const_cast<char*>(argument));
    argv.push_back(nullptr);
    EXPECT_EQ(posix_spawn(&pid_, path.c_str(), &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    close(ends[0]);
  }
  ~Replaying() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }
  int input() const { return input_; }
  // Whether one of its files is a piece of memory.
  bool HoldsMemoryFile() const {
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(entry.path(), gone);
      if (target.starts_with("/memfd:") && !target.starts_with("/memfd:report")) return true;
    }
    return false;
  }
  // Its exit code; `most_memory` in KiB, of its whole life.
  int Wait(int64_t* most_memory) {
    int status = -1;
    rusage usage{};
    wait4(std::exchange(pid_, -1), &status, 0, &usage);
    *most_memory = usage.ru_maxrss;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
};

struct Streamed {
  int64_t at_a_third = 0;  // KiB
  int64_t at_the_end = 0;
  uint64_t judged = 0;
  bool memory_file = false;
};

Streamed Stream(Replaying& replaying, uint64_t length) {
  Streamed out;
  // Ours is the end that writes: whoever reads sees the recording end with the writer.
  RecordWriter writer(replaying.input(), "the pipe");
  uint64_t attempts = 0;
  out.judged = testing::PlaySteadyWorld(length, [&](const Input& input) {
    writer.Append(input);
    if (!std::holds_alternative<Attempt>(input.value) || ++attempts != length / 3) return;
    writer.Flush();
    out.at_a_third = HighWater(replaying.pid());
    out.memory_file = replaying.HoldsMemoryFile();
  });
  writer.Flush();
  EXPECT_TRUE(writer.status().ok()) << writer.status().ToString();
  out.at_the_end = HighWater(replaying.pid());
  return out;
}

// What is left of the kernel's buffers and of retention that has not come round at a third.
constexpr int64_t kSlack = 6 << 10;

TEST(StreamTest, ReplayOfAPipeNeedsNoMoreMemoryTheLongerItGoes) {
  const int out = memfd_create("report", MFD_CLOEXEC);
  Replaying replaying({"phantomctl", "replay", "-", "-o", "json"}, out);
  const Streamed streamed = Stream(replaying, kAttempts);
  int64_t of_its_life = 0;
  ASSERT_EQ(replaying.Wait(&of_its_life), 0);
  RecordProperty("kib_at_a_third", std::to_string(streamed.at_a_third));
  RecordProperty("kib_at_the_end", std::to_string(streamed.at_the_end));
  EXPECT_GT(streamed.at_a_third, 1024);
  EXPECT_LT(streamed.at_the_end, streamed.at_a_third + kSlack);

  std::string json(static_cast<size_t>(lseek(out, 0, SEEK_END)), '\0');
  ASSERT_EQ(pread(out, json.data(), json.size(), 0), static_cast<ssize_t>(json.size()));
  close(out);
  phantom::v1::Report report;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &report).ok());
  EXPECT_EQ(report.status().attempts(), streamed.judged);
  EXPECT_EQ(report.status().attempts() + report.status().not_judged(), kAttempts);
  EXPECT_GT(report.rollouts_size(), 0);
  EXPECT_GT(report.connections_size(), 100);
}

TEST(StreamTest, VerdictsOfAPipeNeedNoMoreMemoryTheLongerItGoes) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  Replaying replaying({"phantomctl", "replay", "-", "--verdicts"}, nowhere);
  const Streamed streamed = Stream(replaying, 60'000);
  int64_t of_its_life = 0;
  EXPECT_EQ(replaying.Wait(&of_its_life), 0);
  EXPECT_FALSE(streamed.memory_file) << "what is read twice belongs on disk";
  // Two passes, the second beside the report of the first.
  EXPECT_LT(of_its_life, 160 << 10);
  close(nowhere);
}

}  // namespace
}  // namespace phantomd
