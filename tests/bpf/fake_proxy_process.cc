#include "tests/bpf/fake_proxy_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "agent/base/check.h"

namespace phantomd {
namespace {

uint16_t FirstNumber(const std::string& answer) {
  std::istringstream words(answer);
  uint16_t out = 0;
  words >> out;
  return out;
}

// Like fork(), for a process ID that is free.
pid_t ForkAs(pid_t pid) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<uintptr_t>(&pid);
  arguments.set_tid_size = 1;
  return static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof(arguments)));
}

}  // namespace

std::string FakeProxy::Installed(const std::string& name) {
  return std::filesystem::canonical("/proc/self/exe").parent_path() / "named" / name;
}

FakeProxy::FakeProxy(const std::string& executable, const NetworkNamespace& netns,
                     const std::vector<std::string>& arguments, const FakeProxyOptions& options) {
  int to[2];
  int from[2];
  PHANTOMD_CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
  std::vector<std::string> words = arguments;
  words.insert(words.begin(), executable);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = options.pid == 0 ? fork() : ForkAs(options.pid);
  PHANTOMD_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    setenv("FAKE_PROXY_UID", std::to_string(options.uid).c_str(), 1);
    if (!options.first.empty()) setenv("FAKE_PROXY_FIRST", options.first.c_str(), 1);
    if (dup2(to[0], 0) < 0 || dup2(from[1], 1) < 0) _exit(126);
    if (setns(netns.fd(), CLONE_NEWNET) == 0) execv(executable.c_str(), argv.data());
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  to_ = Fd(to[1]);
  from_ = fdopen(from[0], "r");
}

FakeProxy::~FakeProxy() {
  End();
  fclose(from_);
}

void FakeProxy::End() {
  if (pid_ < 0) return;
  to_.Close();
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void FakeProxy::Tell(const std::string& command) {
  const std::string line = command + "\n";
  PHANTOMD_CHECK(write(to_.get(), line.data(), line.size()) == ssize_t(line.size()));
}

std::string FakeProxy::Do(const std::string& command) {
  Tell(command);
  char answer[128] = {};
  PHANTOMD_CHECK(fgets(answer, sizeof(answer), from_) != nullptr);
  return answer;
}

uint16_t FakeProxy::Connect(const char* thread, Family family, const IpAddr& ip, uint16_t port) {
  return FirstNumber(
      Do(fmt::format("connect {} {} {} {}", thread, NameOf(family), ip.ToString(), port)));
}

uint16_t FakeProxy::ConnectIn(const NetworkNamespace& netns, Family family, const IpAddr& ip,
                              uint16_t port) {
  return FirstNumber(
      Do(fmt::format("connect-in {} {} {} {}", netns.path(), NameOf(family), ip.ToString(), port)));
}

void FakeProxy::ListenIn(const NetworkNamespace& netns, Family family, uint16_t port) {
  PHANTOMD_CHECK(FirstNumber(Do(fmt::format("listen-in {} {} {}", netns.path(), NameOf(family),
                                            port))) == port);
}

}  // namespace phantomd
