#include "agent/kube/credential_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "agent/base/strings.h"

namespace phantomd {
namespace {

std::string Trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin));
}

}  // namespace

absl::StatusOr<std::string> ReadCredentialFile(const std::string& path) {
  // O_NONBLOCK: a FIFO must not hold up the thread.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return absl::NotFoundError(std::strerror(errno));
  std::string out(CredentialFile::kMaxBytes + 1, '\0');
  size_t size = 0;
  ssize_t got = 1;
  while (got > 0 && size < out.size()) {
    got = read(fd, out.data() + size, out.size() - size);
    if (got > 0) size += static_cast<size_t>(got);
  }
  const int error = errno;
  close(fd);
  if (got < 0) return absl::UnavailableError(std::strerror(error));
  if (size > CredentialFile::kMaxBytes) {
    return absl::ResourceExhaustedError(
        fmt::format("it is longer than {} bytes", CredentialFile::kMaxBytes));
  }
  out.resize(size);
  return out;
}

absl::Status CheckToken(const std::string& token) {
  if (token.empty()) return absl::InvalidArgumentError("it is empty");
  // It becomes part of a header.
  const bool printable =
      std::all_of(token.begin(), token.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  if (!printable) return absl::InvalidArgumentError("it holds characters that no token has");
  return absl::OkStatus();
}

absl::Status CheckPem(const std::string& pem) {
  if (pem.find("-----BEGIN ") == std::string::npos) {
    return absl::InvalidArgumentError("it holds nothing in PEM form");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CredentialFile::Get(BootTime now, Nanos reread) {
  if (read_.is_set() && now - read_ < reread) return content_;
  absl::StatusOr<std::string> content = ReadCredentialFile(path_);
  absl::Status status = content.status();
  if (content.ok()) {
    if (kind_ == Kind::kToken) *content = Trimmed(*content);
    status = kind_ == Kind::kToken ? CheckToken(*content) : CheckPem(*content);
  }
  if (status.ok()) {
    content_ = *std::move(content);
    read_ = now;
    return content_;
  }
  if (!content_.empty()) return content_;
  return absl::Status(status.code(), fmt::format("{}, {}, cannot be used: {}", what_, path_,
                                                 FromAbsl(status.message())));
}

}  // namespace phantomd
