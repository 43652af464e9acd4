// HttpConnection: one request and its answer on a non-blocking socket, then the end: HTTP/1.0 as
// far as a scrape needs it (GET and HEAD of one path).
//
// It does what it can at once and says what it waits for; who drives it closes it when it is done
// or too slow. Example: "GET /metr" | "ics HTTP/1.1\r\n...\r\n\r\n" -> the page is made after the
// second part, and sent as the peer takes it.
//
// Thread-compatible.
#pragma once

#include <functional>
#include <string>

namespace phantomd {

class HttpConnection {
 public:
  using Page = std::function<std::string()>;  // the body of /metrics

  // Owns `fd`.
  explicit HttpConnection(int fd) : fd_(fd) {}
  ~HttpConnection();
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  enum class Wants { kRead, kWrite, kNothing };  // kNothing: it is done
  Wants Step(const Page& page);
  int fd() const { return fd_; }

 private:
  Wants Read(const Page& page);
  Wants Write();

  const int fd_;
  std::string request_;
  std::string answer_;  // not empty: the request is whole
  size_t sent_ = 0;
  bool shut_ = false;  // all is sent; what the peer still says is read and dropped
};

}  // namespace phantomd
