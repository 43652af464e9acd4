// MetricsServer: /metrics over HTTP (libmicrohttpd), from the last published report.
//
// One thread of the library serves all connections, none of which can keep the others waiting; a
// peer that says and takes nothing for kPatience is cut off.
//
// Thread-compatible.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/base/published.h"
#include "agent/engine/report.h"
#include "agent/serve/agent_health.h"

struct MHD_Daemon;

namespace phantomd {

class MetricsServer {
 public:
  static constexpr std::chrono::seconds kPatience{10};  // Prometheus gives up after as long
  static constexpr unsigned kMostConnections = 64;      // more wait in the kernel's queue

  // `address` is "host:port", "[ipv6]:port" or ":port" for all addresses of the machine; port 0:
  // one that is free. What is read must outlive the server.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const Published<Report>& report,
                                                              const Published<AgentHealth>& health);
  ~MetricsServer();
  MetricsServer(const MetricsServer&) = delete;
  MetricsServer& operator=(const MetricsServer&) = delete;

  int port() const { return port_; }

 private:
  using Page = std::function<std::string()>;
  struct Answerer;  // the library's view of the server

  MetricsServer(int port, Page page) : port_(port), page_(std::move(page)) {}

  const int port_;
  const Page page_;
  MHD_Daemon* daemon_ = nullptr;
};

}  // namespace phantomd
