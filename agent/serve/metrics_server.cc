#include "agent/serve/metrics_server.h"

#include <fmt/format.h>
#include <netdb.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "agent/serve/metrics.h"

namespace phantomd {
namespace {

class ReportSource final : public prometheus::Collectable {
 public:
  ReportSource(const Published<Report>& report, const Published<AgentHealth>& health)
      : report_(report), health_(health) {}

  std::vector<prometheus::MetricFamily> Collect() const override {
    return CollectMetrics(*report_.Get(), *health_.Get());
  }

 private:
  const Published<Report>& report_;
  const Published<AgentHealth>& health_;
};

// The HTTP library throws when it cannot listen and does not say why.
std::unique_ptr<prometheus::Exposer> TryListen(const std::string& address) {
  try {
    return std::make_unique<prometheus::Exposer>(address);
  } catch (const std::exception&) {
    return nullptr;
  }
}

// "[::1]:9479" -> "::1"; of ":9479" the loopback address, on which that listens too.
std::string HostOf(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.size() > 2 && host.front() == '[') host = host.substr(1, host.size() - 2);
  return host.empty() ? "127.0.0.1" : host;
}

// Connects and closes, without waiting for either.
void Knock(const std::string& host, int port) {
  const addrinfo hints{.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    connect(fd, found->ai_addr, found->ai_addrlen);
    close(fd);
  }
  freeaddrinfo(found);
}

}  // namespace

MetricsServer::MetricsServer(std::unique_ptr<prometheus::Exposer> exposer,
                             std::shared_ptr<prometheus::Collectable> source, std::string host)
    : host_(std::move(host)), source_(std::move(source)), exposer_(std::move(exposer)) {
  exposer_->RegisterCollectable(source_);
}

// The library looks whether it is to end when somebody connects, else every two seconds: a knock
// spares the agent that wait.
MetricsServer::~MetricsServer() {
  std::atomic<bool> ended{false};
  std::thread knocks;
  try {
    knocks = std::thread([&ended, host = host_, port = port()] {
      while (!ended) {
        Knock(host, port);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    });
  } catch (const std::system_error&) {
    // No thread to be had: it ends at its own pace.
  }
  exposer_.reset();
  ended = true;
  if (knocks.joinable()) knocks.join();
}

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, const Published<Report>& report,
    const Published<AgentHealth>& health) {
  std::unique_ptr<prometheus::Exposer> exposer;
  if (address.starts_with(":")) {
    // The library's "+port" is both address families; a machine without IPv6 has only the other.
    exposer = TryListen("+" + address.substr(1));
    if (exposer == nullptr) exposer = TryListen(address.substr(1));
  } else {
    exposer = TryListen(address);
  }
  if (exposer == nullptr) {
    return absl::FailedPreconditionError(
        fmt::format("{}: cannot serve metrics there: the address is in use, not of this machine or "
                    "not HOST:PORT",
                    address));
  }
  return std::unique_ptr<MetricsServer>(new MetricsServer(
      std::move(exposer), std::make_shared<ReportSource>(report, health), HostOf(address)));
}

int MetricsServer::port() const { return exposer_->GetListeningPorts().front(); }

}  // namespace phantomd
