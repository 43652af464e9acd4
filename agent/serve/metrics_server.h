// MetricsServer: /metrics over HTTP, from the last published report.
//
// One thread serves all connections, none of which can keep the others waiting: a peer that has not
// taken its answer after kPatience is cut off. Why no HTTP library: the one that prometheus-cpp
// brings speaks no IPv6 as Debian builds it, and waits up to two seconds before it ends.
//
// Thread-compatible.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "agent/base/published.h"
#include "agent/engine/report.h"
#include "agent/serve/agent_health.h"
#include "agent/serve/tcp_listener.h"

namespace phantomd {

class MetricsServer {
 public:
  static constexpr std::chrono::seconds kPatience{10};  // Prometheus gives up after as long
  static constexpr size_t kMostConnections = 64;        // more wait in the kernel's queue

  // `address` is "host:port", "[ipv6]:port" or ":port" for all addresses of the machine; port 0:
  // one that is free. What is read must outlive the server.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const Published<Report>& report,
                                                              const Published<AgentHealth>& health);
  ~MetricsServer();

  int port() const { return listener_.port(); }

 private:
  MetricsServer(TcpListener listener, int stop_fd, std::function<std::string()> page);
  void Serve();

  const TcpListener listener_;
  const int stop_fd_;  // an eventfd: readable once the thread is to end
  const std::function<std::string()> page_;
  std::thread thread_;
};

}  // namespace phantomd
