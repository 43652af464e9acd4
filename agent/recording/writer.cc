#include "agent/recording/writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/recording/format.h"
#include "agent/wire/input_wire.h"

namespace phantomd {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

}  // namespace

absl::StatusOr<std::unique_ptr<RecordWriter>> RecordWriter::Create(const std::string& path) {
  const auto cannot = [&path](const char* why) {
    return absl::UnavailableError(fmt::format("cannot write the recording {}: {}", path, why));
  };
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0640);
  if (fd < 0) return cannot(std::strerror(errno));
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) {
    // Two agents would write into each other's records: the file is emptied only by who has it
    // alone. A filesystem that keeps no locks guards nothing.
    const bool taken = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (taken || ftruncate(fd, 0) != 0) {
      const absl::Status status =
          cannot(taken ? "another agent records to it" : std::strerror(errno));
      close(fd);
      return status;
    }
  }
  return std::make_unique<RecordWriter>(fd, path);
}

RecordWriter::RecordWriter(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

RecordWriter::~RecordWriter() {
  Flush();
  close(fd_);
}

void RecordWriter::Append(const Input& input) {
  PHANTOMD_CHECK(begun_ == !std::holds_alternative<Header>(input.value));
  begun_ = true;
  if (!status_.ok()) {
    ++lost_;
    return;
  }
  phantom::v1::Input message;
  EncodeInput(input, &message);
  const size_t length = message.ByteSizeLong();
  if (length > kMaxRecordBytes) {
    Flush();
    Fail(fmt::format("an input of {} bytes is longer than a record may be", length));
    ++lost_;
    return;
  }
  AppendDelimited(message, &buffer_);
  ++buffered_;
  if (buffer_.size() >= kBufferBytes) Flush();
}

void RecordWriter::Flush() {
  size_t done = 0;
  while (status_.ok() && done < buffer_.size()) {
    const ssize_t n = write(fd_, buffer_.data() + done, buffer_.size() - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
    } else if (errno != EINTR) {
      Fail(std::strerror(errno));
    }
  }
  if (status_.ok()) {
    written_ += buffered_;
    whole_bytes_ += static_cast<int64_t>(buffer_.size());
  }
  buffer_.clear();
  buffered_ = 0;
}

void RecordWriter::Fail(std::string_view what) {
  status_ = absl::DataLossError(
      fmt::format("the recording {} ends after {} inputs: {}", name_, written_, what));
  lost_ += buffered_;
  // Only a regular file can be cut; the end of a pipe's reader needs no cutting.
  if (ftruncate(fd_, whole_bytes_) != 0 && errno != EINVAL && errno != ESPIPE) {
    status_ = absl::DataLossError(fmt::format("{}; nor can its half record be removed: {}",
                                              FromAbsl(status_.message()), std::strerror(errno)));
  }
}

}  // namespace phantomd
