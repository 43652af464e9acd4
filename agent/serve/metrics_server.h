// MetricsServer: /metrics over HTTP, from the last published report.
//
// Thread-compatible; scrapes run in its own threads.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "agent/base/published.h"
#include "agent/engine/report.h"
#include "agent/serve/agent_health.h"

namespace prometheus {
class Collectable;
class Exposer;
}  // namespace prometheus

namespace phantomd {

class MetricsServer {
 public:
  // `address` is "host:port", ":port" for all addresses of the machine; port 0: one that is free.
  // What is read must outlive the server.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& address,
                                                              const Published<Report>& report,
                                                              const Published<AgentHealth>& health);
  ~MetricsServer();

  int port() const;

 private:
  MetricsServer(std::unique_ptr<prometheus::Exposer> exposer,
                std::shared_ptr<prometheus::Collectable> source, std::string host);

  const std::string host_;  // where it can be reached from here
  std::shared_ptr<prometheus::Collectable> source_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace phantomd
