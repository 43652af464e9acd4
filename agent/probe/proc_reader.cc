#include "agent/probe/proc_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>

#include "agent/probe/file_failure.h"

namespace phantomd {
namespace {

absl::Status Malformed(const std::string& path) {
  return absl::DataLossError(fmt::format("{}: not in the known form", path));
}

template <typename Number>
bool ParseWhole(std::string_view text, Number* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

// The n-th word of `text`, from 0.
std::string_view Word(std::string_view text, int n) {
  constexpr std::string_view kBlank = " \t\n";
  for (;; --n) {
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin);
    const size_t end = text.find_first_of(kBlank);
    if (n == 0) return text.substr(0, end);
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end);
  }
}

bool WaitsInEpoll(int64_t system_call) {
#ifdef SYS_epoll_wait
  if (system_call == SYS_epoll_wait) return true;
#endif
#ifdef SYS_epoll_pwait2
  if (system_call == SYS_epoll_pwait2) return true;
#endif
  return system_call == SYS_epoll_pwait;
}

}  // namespace

std::string ProcReader::PathOf(uint32_t pid, std::string_view entry) const {
  return fmt::format("{}/{}/{}", root_, pid, entry);
}

std::string ProcReader::PathFor(uint32_t pid, const std::string& file) const {
  return file.starts_with('/') ? PathOf(pid, "root") + file : PathOf(pid, "cwd/") + file;
}

absl::StatusOr<uint32_t> ProcReader::NumberIn(const std::string& path) {
  // The file is another process's choice: a pipe must not hold up the reader.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileFailure(path, errno);
  char text[32];
  struct stat status {};
  const bool regular = fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
  const ssize_t size = regular ? read(fd, text, sizeof(text)) : -1;
  close(fd);
  uint32_t out = 0;
  if (size <= 0 || !ParseWhole(Word(std::string_view(text, size), 0), &out)) return Malformed(path);
  return out;
}

Nanos ProcReader::StartGrain() { return Nanos(1'000'000'000 / sysconf(_SC_CLK_TCK)); }

absl::StatusOr<std::vector<uint32_t>> ProcReader::ProcessIds() const {
  return NumbersIn(root_, SIZE_MAX);
}

absl::StatusOr<std::vector<uint32_t>> ProcReader::NumbersIn(const std::string& path, size_t limit) {
  std::vector<uint32_t> out;
  DIR* directory = opendir(path.c_str());
  if (directory == nullptr) return FileFailure(path, errno);
  errno = 0;
  while (const dirent* entry = out.size() < limit ? readdir(directory) : nullptr) {
    uint32_t number = 0;
    if (ParseWhole<uint32_t>(entry->d_name, &number)) out.push_back(number);
  }
  const int error = errno;
  closedir(directory);
  if (error != 0) return FileFailure(path, error);
  return out;
}

absl::StatusOr<std::string> ProcReader::ReadAll(uint32_t pid, std::string_view entry) const {
  const std::string path = PathOf(pid, entry);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileFailure(path, errno);
  std::string out;
  char buffer[4096];
  ssize_t size = 0;
  while ((size = read(fd, buffer, sizeof(buffer))) > 0) out.append(buffer, size);
  const int error = errno;
  close(fd);
  if (size < 0) return FileFailure(path, error);
  return out;
}

absl::StatusOr<std::string> ProcReader::Executable(uint32_t pid) const {
  const std::string path = PathOf(pid, "exe");
  char target[4096];
  const ssize_t size = readlink(path.c_str(), target, sizeof(target));
  if (size < 0) return FileFailure(path, errno);
  std::string out(target, size);
  constexpr std::string_view kDeleted = " (deleted)";
  if (out.size() > kDeleted.size() &&
      out.compare(out.size() - kDeleted.size(), kDeleted.size(), kDeleted) == 0) {
    out.resize(out.size() - kDeleted.size());
  }
  return out;
}

absl::StatusOr<uint64_t> ProcReader::ExecutableSize(uint32_t pid) const {
  const std::string path = PathOf(pid, "exe");
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return FileFailure(path, errno);
  return status.st_size;
}

std::vector<std::string> ProcReader::ThreadNames(uint32_t pid) const {
  std::vector<std::string> out;
  const std::vector<uint32_t> threads =
      NumbersIn(PathOf(pid, "task"), kThreadNames).value_or(std::vector<uint32_t>());
  if (threads.size() < 2) return out;  // the only thread is named like the process
  for (const uint32_t thread : threads) {
    absl::StatusOr<std::string> name = ReadAll(pid, fmt::format("task/{}/comm", thread));
    if (!name.ok()) continue;
    if (!name->empty() && name->back() == '\n') name->pop_back();
    out.push_back(*std::move(name));
  }
  return out;
}

absl::StatusOr<std::string> ProcReader::Command(uint32_t pid) const {
  absl::StatusOr<std::string> text = ReadAll(pid, "comm");
  if (text.ok() && !text->empty() && text->back() == '\n') text->pop_back();
  return text;
}

absl::StatusOr<std::vector<std::string>> ProcReader::CommandLine(uint32_t pid) const {
  absl::StatusOr<std::string> text = ReadAll(pid, "cmdline");
  if (!text.ok()) return text.status();
  std::vector<std::string> out;
  for (std::string_view rest = *text; !rest.empty();) {
    const size_t end = rest.find('\0');
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return out;
}

absl::StatusOr<std::string> ProcReader::Cgroups(uint32_t pid) const {
  return ReadAll(pid, "cgroup");
}

absl::StatusOr<BootTime> ProcReader::Start(uint32_t pid) const {
  absl::StatusOr<std::string> text = ReadAll(pid, "stat");
  if (!text.ok()) return text.status();
  // The second field is the name in parentheses, which may itself hold blanks and parentheses.
  const size_t name_end = text->rfind(')');
  int64_t ticks = 0;
  if (name_end == std::string::npos ||
      !ParseWhole(Word(std::string_view(*text).substr(name_end + 1), 19), &ticks)) {
    return Malformed(PathOf(pid, "stat"));
  }
  return BootTime::FromNanos(ticks * StartGrain().count());
}

absl::StatusOr<uint32_t> ProcReader::FileSystemUid(uint32_t pid) const {
  absl::StatusOr<std::string> text = ReadAll(pid, "status");
  if (!text.ok()) return text.status();
  constexpr std::string_view kUid = "\nUid:";
  const size_t at = text->find(kUid);
  uint32_t uid = 0;
  // Real, effective, saved, file system.
  if (at == std::string::npos ||
      !ParseWhole(Word(std::string_view(*text).substr(at + kUid.size()), 3), &uid)) {
    return Malformed(PathOf(pid, "status"));
  }
  return uid;
}

absl::StatusOr<std::set<uint32_t>> ProcReader::PolledByMainThread(uint32_t pid) const {
  // The number of the system call in which it sleeps, and its arguments; else "running".
  const absl::StatusOr<std::string> call = ReadAll(pid, "syscall");
  if (!call.ok()) return call.status();
  int64_t number = 0;
  uint32_t epoll = 0;
  std::string_view first = Word(*call, 1);
  if (first.starts_with("0x")) first.remove_prefix(2);
  if (!ParseWhole(Word(*call, 0), &number) || !WaitsInEpoll(number) ||
      std::from_chars(first.data(), first.data() + first.size(), epoll, 16).ec != std::errc()) {
    return absl::FailedPreconditionError(
        fmt::format("{}: its main thread waits in no epoll", PathOf(pid, "syscall")));
  }
  const std::string entry = fmt::format("fdinfo/{}", epoll);
  const absl::StatusOr<std::string> targets = ReadAll(pid, entry);
  if (!targets.ok()) return targets.status();
  std::set<uint32_t> out;
  for (std::string_view rest = *targets; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (Word(line, 0) != "tfd:") continue;
    uint32_t fd = 0;
    if (!ParseWhole(Word(line, 1), &fd)) return Malformed(PathOf(pid, entry));
    out.insert(fd);
  }
  return out;
}

}  // namespace phantomd
