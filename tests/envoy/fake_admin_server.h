// FakeAdminServer is an HTTP server on a port of its own that answers as the test says, well or
// badly.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "agent/base/ip_addr.h"
#include "agent/base/mutex.h"

namespace phantomd {

struct FakeReply {
  enum class End {
    kClose,  // as a server does
    kReset,  // RST
    kStall,  // nothing more comes, and the connection stays
    kDrip,   // the bytes come one at a time, 10 ms apart, for ever
  };
  std::string bytes;  // all of it: status line, headers, body
  End end = End::kClose;

  // A proper answer.
  static FakeReply Ok(std::string_view body);
};

class FakeAdminServer {
 public:
  // answer(path) -> what goes back; called on the server's threads, one at a time.
  explicit FakeAdminServer(std::function<FakeReply(const std::string& path)> answer);
  ~FakeAdminServer();

  SocketAddr address() const { return address_; }
  // The paths that were asked for so far, in order.
  std::vector<std::string> asked() const PHANTOMD_EXCLUDES(mutex_);

 private:
  void Accept();
  void Serve(int fd);
  bool StopsWithin(int millis);

  const std::function<FakeReply(const std::string&)> answer_;
  int listener_ = -1;
  int stop_ = -1;  // eventfd
  SocketAddr address_;
  mutable Mutex mutex_;
  std::vector<std::string> asked_ PHANTOMD_GUARDED_BY(mutex_);
  std::vector<std::thread> connections_;  // of the accepting thread, until it ends
  std::thread acceptor_;
};

}  // namespace phantomd
