#include "agent/serve/metrics_server.h"

#include <fmt/format.h>
#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <exception>
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

}  // namespace

MetricsServer::MetricsServer(std::unique_ptr<prometheus::Exposer> exposer,
                             std::shared_ptr<prometheus::Collectable> source)
    : source_(std::move(source)), exposer_(std::move(exposer)) {
  exposer_->RegisterCollectable(source_);
}

MetricsServer::~MetricsServer() = default;

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
  return std::unique_ptr<MetricsServer>(
      new MetricsServer(std::move(exposer), std::make_shared<ReportSource>(report, health)));
}

int MetricsServer::port() const { return exposer_->GetListeningPorts().front(); }

}  // namespace phantomd
