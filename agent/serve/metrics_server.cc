#include "agent/serve/metrics_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <prometheus/text_serializer.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <utility>
#include <vector>

#include "agent/base/strings.h"
#include "agent/serve/http_connection.h"
#include "agent/serve/metrics.h"

namespace phantomd {
namespace {

using Steady = std::chrono::steady_clock;

constexpr int kNoDescriptorMillis = 100;

struct Open {
  Open(int fd, Steady::time_point until) : connection(fd), until(until) {}
  HttpConnection connection;
  HttpConnection::Wants wants = HttpConnection::Wants::kRead;
  const Steady::time_point until;  // it is cut off then
};

short EventsFor(HttpConnection::Wants wants) {
  return wants == HttpConnection::Wants::kWrite ? POLLOUT : POLLIN;
}

// Until the first of them is to be cut off; -1: for ever. They are in the order of their beginning.
int MillisUntil(const std::list<Open>& open) {
  if (open.empty()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(open.front().until - Steady::now());
  return std::max(0, static_cast<int>(left.count()));
}

}  // namespace

MetricsServer::MetricsServer(TcpListener listener, int stop_fd, std::function<std::string()> page)
    : listener_(std::move(listener)), stop_fd_(stop_fd), page_(std::move(page)) {
  thread_ = std::thread([this] { Serve(); });
}

MetricsServer::~MetricsServer() {
  eventfd_write(stop_fd_, 1);
  thread_.join();
  close(stop_fd_);
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, const Published<Report>& report,
    const Published<AgentHealth>& health) {
  const auto cannot = [&address](std::string_view why) {
    return absl::FailedPreconditionError(
        fmt::format("{}: cannot serve metrics there: {}", address, why));
  };
  const absl::StatusOr<HostPort> where = ParseHostPort(address);
  if (!where.ok()) return cannot(FromAbsl(where.status().message()));
  absl::StatusOr<TcpListener> listener = TcpListener::Listen(*where);
  if (!listener.ok()) return cannot(FromAbsl(listener.status().message()));
  const int stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_fd < 0) return cannot(std::strerror(errno));
  return std::unique_ptr<MetricsServer>(
      new MetricsServer(*std::move(listener), stop_fd, [&report, &health] {
        return prometheus::TextSerializer().Serialize(CollectMetrics(*report.Get(), *health.Get()));
      }));
}

void MetricsServer::Serve() {
  std::list<Open> open;
  while (true) {
    std::vector<pollfd> fds = {
        {.fd = stop_fd_, .events = POLLIN},
        // A negative one is passed over.
        {.fd = open.size() < kMostConnections ? listener_.fd() : -1, .events = POLLIN}};
    for (const Open& one : open) {
      fds.push_back({.fd = one.connection.fd(), .events = EventsFor(one.wants)});
    }
    poll(fds.data(), fds.size(), MillisUntil(open));
    if (fds[0].revents != 0) return;
    auto at = open.begin();
    for (size_t i = 2; i < fds.size(); ++i) {
      const auto one = at++;
      if (fds[i].revents != 0) one->wants = one->connection.Step(page_);
      if (one->wants == HttpConnection::Wants::kNothing || Steady::now() >= one->until) {
        open.erase(one);
      }
    }
    if (fds[1].revents == 0) continue;
    const int fd = accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      open.emplace_back(fd, Steady::now() + kPatience);
    } else if (errno == EMFILE || errno == ENFILE) {
      // The process has no descriptor to spare, and the listener stays readable: not at full speed.
      poll(fds.data(), 1, kNoDescriptorMillis);
    }
  }
}

}  // namespace phantomd
