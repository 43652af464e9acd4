#include "agent/kube/exec_plugin.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "agent/base/check.h"

namespace phantomd {
namespace {

constexpr char kInfoName[] = "KUBERNETES_EXEC_INFO";

// Our own environment, and what the kubeconfig adds or replaces.
std::vector<std::string> Environment(const KubeconfigExec& exec, const std::string& info) {
  std::vector<std::pair<std::string, std::string>> added = exec.env;
  added.emplace_back(kInfoName, info);
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [name](const auto& pair) { return pair.first == name; });
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : added) out.push_back(fmt::format("{}={}", name, value));
  return out;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

absl::Status ExecPlugin::Failed(std::string_view why) const {
  std::string hint = exec_.install_hint;
  std::replace(hint.begin(), hint.end(), '\n', ' ');
  return absl::UnavailableError(fmt::format("the exec plugin {} {}{}{}", exec_.command, why,
                                            hint.empty() ? "" : "; its hint: ", hint));
}

absl::Status ExecPlugin::Start(const std::string& info, BootTime now) {
  PHANTOMD_CHECK(!running());
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Failed(fmt::format("cannot be started: {}", std::strerror(errno)));
  }
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  std::vector<std::string> args = exec_.args;
  args.insert(args.begin(), exec_.command);
  std::vector<std::string> environment = Environment(exec_, info);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // The agent blocks signals and ignores SIGPIPE; a plugin expects neither.
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  const int error = posix_spawnp(&pid_, exec_.command.c_str(), &files, &attributes,
                                 Pointers(args).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(ends[1]);
  if (error != 0) {
    pid_ = 0;
    close(ends[0]);
    return Failed(fmt::format("cannot be started: {}", std::strerror(error)));
  }
  output_ = ends[0];
  printed_.clear();
  started_ = now;
  return absl::OkStatus();
}

bool ExecPlugin::ReadOutput() {
  std::array<char, 4096> bytes;
  while (output_ >= 0 && printed_.size() <= kMaxOutput) {
    const ssize_t got = read(output_, bytes.data(), bytes.size());
    if (got > 0) {
      printed_.append(bytes.data(), static_cast<size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      return false;
    } else if (got == 0 || errno != EINTR) {
      return true;
    }
  }
  return true;
}

std::optional<absl::StatusOr<std::string>> ExecPlugin::Poll(BootTime now) {
  PHANTOMD_CHECK(running());
  const bool ended = ReadOutput();
  if (printed_.size() > kMaxOutput) {
    Kill();
    return Failed(fmt::format("printed more than {} bytes", kMaxOutput));
  }
  int status = 0;
  if (ended && waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = 0;
    CloseOutput();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::move(printed_);
    return WIFEXITED(status) ? Failed(fmt::format("ended with exit code {}", WEXITSTATUS(status)))
                             : Failed(fmt::format("was ended by signal {}", WTERMSIG(status)));
  }
  if (now - started_ < kTimeout) return std::nullopt;
  Kill();
  return Failed(fmt::format("did not end within {} s",
                            std::chrono::floor<std::chrono::seconds>(kTimeout).count()));
}

void ExecPlugin::Kill() {
  CloseOutput();
  if (!running()) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void ExecPlugin::CloseOutput() {
  if (output_ >= 0) close(output_);
  output_ = -1;
}

}  // namespace phantomd
