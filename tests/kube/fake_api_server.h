// FakeApiServer is an HTTP/1.1 server on a port of its own that answers as the test says, well or
// badly, and goes on with an answer when the test wants it to.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "agent/base/mutex.h"

namespace phantomd {

struct FakeApiRequest {
  std::string path;  // with its query
  std::string head;  // all of it
};

struct FakeApiAnswer {
  enum class End {
    kKeep,   // the connection serves the next request
    kClose,  // as a server does that gives no length
    kReset,  // RST
    kOpen,   // the answer goes on: Push()
  };
  std::string bytes;  // all of it: status line, headers, body
  End end = End::kClose;

  static FakeApiAnswer Json(int status, std::string_view body, std::string_view header = "");
  // The head of an answer that goes on.
  static FakeApiAnswer Watch();
};

class FakeApiServer {
 public:
  using Handler = std::function<FakeApiAnswer(const FakeApiRequest&)>;

  // `handler` is called on the server's threads, one at a time.
  explicit FakeApiServer(Handler handler);
  ~FakeApiServer();
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;

  std::string url() const;
  // More of every answer that is open.
  void Push(std::string_view bytes) PHANTOMD_EXCLUDES(mutex_);
  // The answers that are open end so.
  void EndOpen(FakeApiAnswer::End how) PHANTOMD_EXCLUDES(mutex_);
  // From now on nothing is read or answered, and connections stay as they are; until Resume().
  void Stop() { stopped_ = true; }
  void Resume() { stopped_ = false; }

  std::vector<FakeApiRequest> asked() const PHANTOMD_EXCLUDES(mutex_);

 private:
  struct Open {
    std::string unsent;
    bool ends = false;
    FakeApiAnswer::End how = FakeApiAnswer::End::kClose;
  };

  void Accept();
  void Serve(int fd);
  // False: the connection is over, or the server is.
  bool ReadRequest(int fd, FakeApiRequest* request) const;
  // How the answer ended.
  FakeApiAnswer::End GoOn(int fd) PHANTOMD_EXCLUDES(mutex_);
  bool Rests() const;  // a moment; false: the server is over

  const Handler handler_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::atomic<bool> over_ = false;
  std::atomic<bool> stopped_ = false;
  mutable Mutex mutex_;
  std::vector<FakeApiRequest> asked_ PHANTOMD_GUARDED_BY(mutex_);
  std::map<int, Open> open_ PHANTOMD_GUARDED_BY(mutex_);  // by connection
  std::vector<std::thread> connections_ PHANTOMD_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace phantomd
