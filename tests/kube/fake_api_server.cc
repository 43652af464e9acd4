#include "tests/kube/fake_api_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tests/base/loopback.h"

namespace phantomd {
namespace {

constexpr int kMomentMs = 2;

bool SendAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

void CloseSo(int fd, FakeApiAnswer::End how) {
  if (how == FakeApiAnswer::End::kReset) {
    const linger hard{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
  }
  close(fd);
}

}  // namespace

FakeApiAnswer FakeApiAnswer::Json(int status, std::string_view body, std::string_view header) {
  return {fmt::format("HTTP/1.1 {} Some\r\nContent-Type: application/json\r\n{}"
                      "Content-Length: {}\r\n\r\n{}",
                      status, header, body.size(), body),
          End::kKeep};
}

FakeApiAnswer FakeApiAnswer::Watch() {
  return {"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n",
          End::kOpen};
}

FakeApiServer::FakeApiServer(Handler handler) : handler_(std::move(handler)) {
  listener_ = testing::ListenOnLoopback(&port_);
  acceptor_ = std::thread([this] { Accept(); });
}

FakeApiServer::~FakeApiServer() {
  over_ = true;
  acceptor_.join();
  std::vector<std::thread> connections;
  {
    MutexLock lock(mutex_);
    connections.swap(connections_);
  }
  for (std::thread& connection : connections) connection.join();
  close(listener_);
}

std::string FakeApiServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

void FakeApiServer::Push(std::string_view bytes) {
  MutexLock lock(mutex_);
  for (auto& [fd, open] : open_) open.unsent += bytes;
}

void FakeApiServer::EndOpen(FakeApiAnswer::End how) {
  MutexLock lock(mutex_);
  for (auto& [fd, open] : open_) {
    open.ends = true;
    open.how = how;
  }
}

std::vector<FakeApiRequest> FakeApiServer::asked() const {
  MutexLock lock(mutex_);
  return asked_;
}

bool FakeApiServer::Rests() const {
  do {
    poll(nullptr, 0, kMomentMs);
  } while (stopped_ && !over_);
  return !over_;
}

void FakeApiServer::Accept() {
  while (!over_) {
    pollfd wait{listener_, POLLIN, 0};
    if (poll(&wait, 1, kMomentMs) != 1) continue;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) continue;
    MutexLock lock(mutex_);
    connections_.emplace_back([this, fd] { Serve(fd); });
  }
}

bool FakeApiServer::ReadRequest(int fd, FakeApiRequest* request) const {
  std::string head;
  while (head.find("\r\n\r\n") == std::string::npos) {
    if (!Rests()) return false;
    pollfd wait{fd, POLLIN, 0};
    if (poll(&wait, 1, kMomentMs) != 1) continue;
    char chunk[4096];
    const ssize_t count = recv(fd, chunk, sizeof(chunk), 0);
    if (count <= 0) return false;
    head.append(chunk, static_cast<size_t>(count));
  }
  const size_t from = head.find(' ') + 1;
  request->path = head.substr(from, head.find(' ', from) - from);
  request->head = std::move(head);
  return true;
}

void FakeApiServer::Serve(int fd) {
  FakeApiAnswer::End end = FakeApiAnswer::End::kKeep;
  for (FakeApiRequest request; end == FakeApiAnswer::End::kKeep && ReadRequest(fd, &request);) {
    FakeApiAnswer answer;
    {
      MutexLock lock(mutex_);
      asked_.push_back(request);
      answer = handler_(request);
      if (answer.end == FakeApiAnswer::End::kOpen) open_.try_emplace(fd);
    }
    end = answer.end;
    if (!SendAll(fd, answer.bytes)) end = FakeApiAnswer::End::kClose;
    if (end == FakeApiAnswer::End::kOpen) end = GoOn(fd);
  }
  CloseSo(fd, end);
}

FakeApiAnswer::End FakeApiServer::GoOn(int fd) {
  FakeApiAnswer::End how = FakeApiAnswer::End::kClose;
  for (bool ends = false; !ends && Rests();) {
    std::string bytes;
    {
      MutexLock lock(mutex_);
      Open& open = open_.at(fd);
      bytes.swap(open.unsent);
      ends = open.ends;
      how = open.how;
    }
    char none = 0;
    const bool hung_up = recv(fd, &none, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
    if (hung_up || !SendAll(fd, bytes)) break;
  }
  MutexLock lock(mutex_);
  open_.erase(fd);
  return how;
}

}  // namespace phantomd
