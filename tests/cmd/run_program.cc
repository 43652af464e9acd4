#include "tests/cmd/run_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

namespace phantomd::testing {
namespace {

int MemoryFile(const std::string& content) {
  const int fd = memfd_create("text", MFD_CLOEXEC);
  EXPECT_EQ(write(fd, content.data(), content.size()), static_cast<ssize_t>(content.size()));
  lseek(fd, 0, SEEK_SET);
  return fd;
}

std::string ReadWhole(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t n = 0;
       (n = pread(fd, buffer, sizeof(buffer), static_cast<off_t>(out.size()))) > 0;) {
    out.append(buffer, static_cast<size_t>(n));
  }
  return out;
}

std::string BinaryFolder() {
  const char* build = std::getenv("PHANTOMD_BUILD_DIR");
  return std::string(build != nullptr ? build : ".") + "/bin/";
}

pid_t Spawn(const std::string& program, const std::vector<std::string>& arguments, int in, int out,
            int err) {
  const std::string path = PathOf(program);
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  char zone[] = "TZ=UTC";
  std::vector<char*> environment = {zone};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string(*variable).starts_with("TZ=")) environment.push_back(*variable);
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  pid_t pid = -1;
  EXPECT_EQ(posix_spawn(&pid, path.c_str(), &files, nullptr, argv.data(), environment.data()), 0)
      << path;
  posix_spawn_file_actions_destroy(&files);
  return pid;
}

int WaitFor(pid_t pid) {
  int status = 0;
  if (pid <= 0 || waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string PathOf(const std::string& program) {
  return program.starts_with('/') ? program : BinaryFolder() + program;
}

Ran RunProgram(const std::string& program, const std::vector<std::string>& arguments,
               const std::string& input) {
  const int in = MemoryFile(input), out = MemoryFile(""), err = MemoryFile("");
  Ran ran;
  ran.code = WaitFor(Spawn(program, arguments, in, out, err));
  ran.out = ReadWhole(out);
  ran.err = ReadWhole(err);
  for (const int fd : {in, out, err}) close(fd);
  return ran;
}

RunningProgram::RunningProgram(const std::string& program,
                               const std::vector<std::string>& arguments)
    : err_(MemoryFile("")) {
  int pipe_fds[2];
  EXPECT_EQ(pipe2(pipe_fds, O_CLOEXEC), 0);
  const int in = MemoryFile("");
  pid_ = Spawn(program, arguments, in, pipe_fds[1], err_);
  close(in);
  close(pipe_fds[1]);
  out_ = pipe_fds[0];
}

RunningProgram::~RunningProgram() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    Wait();
  }
  close(out_);
  close(err_);
}

std::string RunningProgram::ReadLine() {
  while (true) {
    if (const size_t end = buffered_.find('\n'); end != std::string::npos) {
      std::string line = buffered_.substr(0, end);
      buffered_.erase(0, end + 1);
      return line;
    }
    pollfd ready{.fd = out_, .events = POLLIN};
    char buffer[4096];
    ssize_t n = 0;
    if (poll(&ready, 1, 20'000) == 1) n = read(out_, buffer, sizeof(buffer));
    if (n <= 0) {
      ADD_FAILURE() << "no further line; standard error: " << Errors();
      return "";
    }
    buffered_.append(buffer, static_cast<size_t>(n));
  }
}

void RunningProgram::Signal(int number) { kill(pid_, number); }

int RunningProgram::Wait() {
  const int code = WaitFor(pid_);
  pid_ = -1;
  return code;
}

std::string RunningProgram::Errors() const { return ReadWhole(err_); }

}  // namespace phantomd::testing
