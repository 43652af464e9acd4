#include "tests/envoy/fake_admin_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/check.h"
#include "tests/base/loopback.h"

namespace phantomd {

FakeReply FakeReply::Ok(std::string_view body) {
  return {fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
                      "Connection: close\r\n\r\n{}",
                      body.size(), body),
          End::kClose};
}

FakeAdminServer::FakeAdminServer(std::function<FakeReply(const std::string&)> answer)
    : answer_(std::move(answer)) {
  stop_ = eventfd(0, EFD_CLOEXEC);
  uint16_t port = 0;
  listener_ = testing::ListenOnLoopback(&port);
  address_ = {IpAddr::V4(127, 0, 0, 1), port};
  acceptor_ = std::thread([this] { Accept(); });
}

FakeAdminServer::~FakeAdminServer() {
  const uint64_t one = 1;
  PHANTOMD_CHECK(write(stop_, &one, sizeof(one)) == sizeof(one));
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
  close(stop_);
}

std::vector<std::string> FakeAdminServer::asked() const {
  MutexLock lock(mutex_);
  return asked_;
}

bool FakeAdminServer::StopsWithin(int millis) {
  pollfd stop{stop_, POLLIN, 0};
  return poll(&stop, 1, millis) > 0;
}

void FakeAdminServer::Accept() {
  for (;;) {
    pollfd wait[2] = {{listener_, POLLIN, 0}, {stop_, POLLIN, 0}};
    if (poll(wait, 2, -1) < 0) continue;
    if (wait[1].revents != 0) return;
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) connections_.emplace_back([this, fd] { Serve(fd); });
  }
}

void FakeAdminServer::Serve(int fd) {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    pollfd wait[2] = {{fd, POLLIN, 0}, {stop_, POLLIN, 0}};
    char chunk[4096];
    if (poll(wait, 2, -1) < 0 || wait[1].revents != 0) break;
    const ssize_t count = recv(fd, chunk, sizeof(chunk), 0);
    if (count <= 0) break;
    request.append(chunk, static_cast<size_t>(count));
  }
  const size_t from = request.find(' ') + 1;
  const std::string path = request.substr(from, request.find(' ', from) - from);
  FakeReply reply;
  {
    MutexLock lock(mutex_);
    asked_.push_back(path);
    reply = answer_(path);
  }
  const size_t piece = reply.end == FakeReply::End::kDrip ? 1 : reply.bytes.size();
  bool open = true;
  for (size_t sent = 0; open && sent < reply.bytes.size();) {
    const ssize_t count = send(fd, reply.bytes.data() + sent,
                               std::min(piece, reply.bytes.size() - sent), MSG_NOSIGNAL);
    open = count > 0;
    if (open) sent += static_cast<size_t>(count);
    if (reply.end == FakeReply::End::kDrip && StopsWithin(10)) break;
  }
  if (reply.end == FakeReply::End::kStall || reply.end == FakeReply::End::kDrip) StopsWithin(-1);
  if (reply.end == FakeReply::End::kReset) {
    const linger hard{1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
  }
  close(fd);
}

}  // namespace phantomd
