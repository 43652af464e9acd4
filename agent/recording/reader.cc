#include "agent/recording/reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/base/strings.h"
#include "agent/recording/format.h"
#include "agent/wire/input_wire.h"

namespace phantomd {
namespace {

constexpr size_t kReadBytes = 256 << 10;

// The first Input is observed_ns and a Header, either of which may come first.
bool MayBeginInput(char tag) {
  constexpr char kVarint = 0, kLengthDelimited = 2;
  return tag == (phantom::v1::Input::kObservedNsFieldNumber << 3 | kVarint) ||
         tag == (phantom::v1::Input::kHeaderFieldNumber << 3 | kLengthDelimited);
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordingReader>> RecordingReader::Open(const std::string& path) {
  if (path == "-") return std::make_unique<RecordingReader>(dup(STDIN_FILENO), "standard input");
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return absl::NotFoundError(
        fmt::format("cannot read the recording {}: {}", path, std::strerror(errno)));
  }
  return std::make_unique<RecordingReader>(fd, path);
}

RecordingReader::RecordingReader(int fd, std::string name) : fd_(fd), name_(std::move(name)) {}

RecordingReader::~RecordingReader() {
  if (fd_ >= 0) close(fd_);
}

absl::StatusOr<std::optional<Input>> RecordingReader::Next() {
  if (!status_.ok()) return status_;
  absl::StatusOr<std::optional<Input>> out = NextRecord();
  status_ = out.status();
  return out;
}

absl::StatusOr<std::optional<Input>> RecordingReader::NextRecord() {
  size_t length = 0;
  size_t prefix = 0;
  for (uint8_t byte = 0x80; (byte & 0x80) != 0; ++prefix) {
    if (prefix == kMaxLengthBytes) return Rubbish("its length has too many bytes");
    if (absl::Status read = Fill(prefix + 1); !read.ok()) return read;
    if (available() == 0 && inputs_ > 0) return std::optional<Input>();
    if (available() <= prefix) return Truncated();
    byte = static_cast<uint8_t>(buffer_[at_ + prefix]);
    length |= size_t{byte & 0x7Fu} << (7 * prefix);
  }
  if (inputs_ == 0) {
    if (absl::Status read = Fill(prefix + 1); !read.ok()) return read;
    if (available() > prefix && !MayBeginInput(buffer_[at_ + prefix])) {
      return absl::InvalidArgumentError(
          fmt::format("{} is not a recording: no Header can begin as at byte {}", name_, prefix));
    }
  }
  if (length > kMaxRecordBytes) {
    return Rubbish(fmt::format("its length is {}, and the longest is {}", length, kMaxRecordBytes));
  }
  if (absl::Status read = Fill(prefix + length); !read.ok()) return read;
  if (available() < prefix + length) return Truncated();
  at_ += prefix;
  absl::StatusOr<Input> input = Decode(length);
  if (!input.ok()) return input.status();
  at_ += length;
  record_offset_ += prefix + length;
  ++inputs_;
  return std::optional<Input>(*std::move(input));
}

absl::StatusOr<Input> RecordingReader::Decode(size_t length) {
  phantom::v1::Input message;
  if (!message.ParseFromArray(buffer_.data() + at_, static_cast<int>(length))) {
    return Rubbish("its bytes are not an Input");
  }
  absl::StatusOr<Input> input = DecodeInput(message);
  if (!input.ok()) return Rubbish(FromAbsl(input.status().message()));
  const Header* header = std::get_if<Header>(&input->value);
  if (inputs_ == 0 && header == nullptr) return Rubbish("the first input is not a Header");
  if (inputs_ > 0 && header != nullptr) return Rubbish("a second Header");
  if (header != nullptr && header->format_version != Header::kFormatVersion) {
    return Rubbish(fmt::format("its format_version is {}, and this program reads {}",
                               header->format_version, Header::kFormatVersion));
  }
  return input;
}

absl::Status RecordingReader::Fill(size_t wanted) {
  if (available() >= wanted) return absl::OkStatus();
  buffer_.erase(0, at_);
  at_ = 0;
  while (buffer_.size() < wanted) {
    const size_t had = buffer_.size();
    buffer_.resize(std::max(had + kReadBytes, buffer_.capacity()));
    const ssize_t n = read(fd_, buffer_.data() + had, buffer_.size() - had);
    const int error = errno;
    buffer_.resize(had + (n > 0 ? static_cast<size_t>(n) : 0));
    if (n == 0) break;
    if (n < 0 && error != EINTR) {
      return absl::UnavailableError(fmt::format("cannot read the recording {} after byte {}: {}",
                                                name_, record_offset_ + had, std::strerror(error)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<Input>> RecordingReader::Truncated() {
  const uint64_t end = record_offset_ + available();
  truncation_ = fmt::format(
      "the recording {} is cut off at byte {}, inside the record that begins at byte {}: {} inputs "
      "were read",
      name_, end, record_offset_, inputs_);
  if (inputs_ == 0) {
    return absl::DataLossError(
        fmt::format("the recording {} ends at byte {}, before the end of its Header", name_, end));
  }
  return std::optional<Input>();
}

absl::Status RecordingReader::Rubbish(std::string_view what) const {
  return absl::DataLossError(fmt::format("the recording {} is damaged at byte {} (record {}): {}",
                                         name_, record_offset_, inputs_ + 1, what));
}

}  // namespace phantomd
