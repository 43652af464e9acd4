#include "agent/cmd/ctl/replay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "agent/engine/engine.h"
#include "agent/recording/reader.h"
#include "agent/wire/report_wire.h"

namespace phantomd {
namespace {

struct Replayed {
  std::shared_ptr<const Report> report;
  std::string truncation;
};

absl::StatusOr<Replayed> Run(RecordingReader& reader, const Engine::JudgedSink& judged) {
  std::optional<Engine> engine;
  while (true) {
    const absl::StatusOr<std::optional<Input>> input = reader.Next();
    if (!input.ok()) return input.status();
    if (!input->has_value()) break;
    if (!engine.has_value()) {
      // The reader yields nothing before the header.
      engine.emplace(std::get<Header>((*input)->value), (*input)->observed, Engine::Options(),
                     Engine::AppliedSink(), judged);
      continue;
    }
    if (absl::Status applied = engine->Replay(**input); !applied.ok()) return applied;
  }
  engine->Finish();
  return Replayed{.report = engine->MakeReport(), .truncation = reader.truncation()};
}

absl::Status Errno(const std::string& path) {
  return absl::UnavailableError(fmt::format("{}: {}", path, std::strerror(errno)));
}

// A file without a name. /var/tmp is where large temporary files belong: /tmp may be memory.
int TemporaryFile() {
  const char* folder = std::getenv("TMPDIR");
  std::string path =
      std::string(folder != nullptr && *folder != 0 ? folder : "/var/tmp") + "/phantomctl-XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) unlink(path.c_str());
  return fd;
}

// A descriptor that can be read from its beginning again: the file itself, or a copy on disk of
// what can be read only once.
absl::StatusOr<int> OpenRewindable(const std::string& path) {
  const int fd = path == "-" ? dup(STDIN_FILENO) : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Errno(path);
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) return fd;
  const int copy = TemporaryFile();
  bool copied = copy >= 0;
  char buffer[1 << 16];
  ssize_t n = 0;
  while (copied && (n = read(fd, buffer, sizeof(buffer))) > 0) {
    copied = write(copy, buffer, static_cast<size_t>(n)) == n;
  }
  const absl::Status status = copied && n == 0 ? absl::OkStatus() : Errno(path);
  close(fd);
  if (status.ok()) return copy;
  if (copy >= 0) close(copy);
  return status;
}

}  // namespace

absl::StatusOr<ReplayedReport> ReplayReport(const std::string& path) {
  const auto reader = RecordingReader::Open(path);
  if (!reader.ok()) return reader.status();
  const auto replayed = Run(**reader, Engine::JudgedSink());
  if (!replayed.ok()) return replayed.status();
  ReplayedReport out{.truncation = replayed->truncation};
  EncodeReport(*replayed->report, &out.report);
  return out;
}

absl::StatusOr<std::string> ReplayVerdicts(
    const std::string& path, const std::function<void(const phantom::v1::Connection&)>& verdict) {
  const auto fd = OpenRewindable(path);
  if (!fd.ok()) return fd.status();
  RecordingReader second(*fd, path);
  // Both passes share the position in the file: the second begins when the first has ended.
  RecordingReader first(dup(*fd), path);
  if (lseek(*fd, 0, SEEK_SET) != 0) return Errno(path);
  const auto known = Run(first, Engine::JudgedSink());
  if (!known.ok()) return known.status();
  if (lseek(*fd, 0, SEEK_SET) != 0) return Errno(path);
  const ReportEncoder encoder(*known->report);
  const auto replayed = Run(second, [&](const Connection& connection) {
    phantom::v1::Connection message;
    encoder.Encode(connection, &message);
    verdict(message);
  });
  if (!replayed.ok()) return replayed.status();
  return replayed->truncation;
}

}  // namespace phantomd
