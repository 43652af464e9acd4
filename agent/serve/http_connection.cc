#include "agent/serve/http_connection.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace phantomd {
namespace {

constexpr size_t kLongestRequest = 16 << 10;

std::string Answer(std::string_view status, std::string_view type, std::string_view body,
                   bool with_body) {
  return fmt::format(
      "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}",
      status, type, body.size(), with_body ? body : std::string_view());
}

std::string Refusal(std::string_view status, std::string_view sentence) {
  return Answer(status, "text/plain; charset=utf-8", sentence, true);
}

// The answer to a request whose first line is "GET /metrics HTTP/1.1".
std::string AnswerTo(std::string_view line, const HttpConnection::Page& page) {
  const size_t method_end = line.find(' ');
  const size_t path_end = line.find(' ', method_end + 1);
  if (method_end == std::string_view::npos || path_end == std::string_view::npos ||
      !line.substr(path_end + 1).starts_with("HTTP/1.")) {
    return Refusal("400 Bad Request", "not an HTTP/1 request\n");
  }
  const std::string_view method = line.substr(0, method_end);
  std::string_view path = line.substr(method_end + 1, path_end - method_end - 1);
  path = path.substr(0, path.find('?'));
  if (path != "/metrics") return Refusal("404 Not Found", "there is /metrics\n");
  if (method != "GET" && method != "HEAD") {
    return Refusal("405 Method Not Allowed", "there are GET and HEAD\n");
  }
  return Answer("200 OK", "text/plain; version=0.0.4; charset=utf-8", page(), method == "GET");
}

bool MustWait() { return errno == EAGAIN || errno == EWOULDBLOCK; }

}  // namespace

HttpConnection::~HttpConnection() { close(fd_); }

HttpConnection::Wants HttpConnection::Step(const Page& page) {
  if (answer_.empty() || shut_) return Read(page);
  return Write();
}

HttpConnection::Wants HttpConnection::Read(const Page& page) {
  char buffer[4096];
  while (true) {
    const ssize_t n = recv(fd_, buffer, sizeof(buffer), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && MustWait()) return Wants::kRead;
    if (n <= 0) return Wants::kNothing;
    if (shut_) continue;
    request_.append(buffer, static_cast<size_t>(n));
    if (request_.find("\r\n\r\n") != std::string::npos) {
      answer_ = AnswerTo(std::string_view(request_).substr(0, request_.find("\r\n")), page);
      return Write();
    }
    if (request_.size() > kLongestRequest) {
      answer_ = Refusal("431 Request Header Fields Too Large", "the request is too long\n");
      return Write();
    }
  }
}

HttpConnection::Wants HttpConnection::Write() {
  while (sent_ < answer_.size()) {
    const ssize_t n = send(fd_, answer_.data() + sent_, answer_.size() - sent_, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && MustWait()) return Wants::kWrite;
    if (n < 0) return Wants::kNothing;
    sent_ += static_cast<size_t>(n);
  }
  // Closing while bytes of the peer are unread would reset the connection and with it the answer.
  shutdown(fd_, SHUT_WR);
  shut_ = true;
  return Wants::kRead;
}

}  // namespace phantomd
