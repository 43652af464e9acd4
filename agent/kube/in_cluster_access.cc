#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "agent/kube/credential_file.h"
#include "agent/kube/kube_access.h"

namespace phantomd {
namespace {

class ServiceAccount final : public KubeAccess {
 public:
  ServiceAccount(std::string server, const std::string& folder, const Clock& clock)
      : server_(std::move(server)),
        clock_(clock),
        token_(CredentialFile::Kind::kToken, "the token of the service account", folder + "/token"),
        ca_(CredentialFile::Kind::kPem, "the certificate of the cluster's CA", folder + "/ca.crt") {
  }

  absl::StatusOr<std::optional<KubeEndpoint>> Get() override {
    const BootTime now = clock_.Now();
    absl::StatusOr<std::string> token = token_.Get(now, kReread);
    if (!token.ok()) return token.status();
    absl::StatusOr<std::string> ca = ca_.Get(now, kReread);
    if (!ca.ok()) return ca.status();
    return KubeEndpoint{
        .server = server_, .ca_pem = *std::move(ca), .token = Secret(*std::move(token))};
  }
  void Refused() override {
    token_.Forget();
    ca_.Forget();
  }
  const std::string& description() const override { return description_; }

 private:
  const std::string server_;
  const std::string description_ = "the service account of this pod";
  const Clock& clock_;
  CredentialFile token_;
  CredentialFile ca_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KubeAccess>> InClusterAccess(InClusterOptions options,
                                                            const Clock& clock) {
  for (const auto& [name, value] : {std::pair("KUBERNETES_SERVICE_HOST", &options.host),
                                    std::pair("KUBERNETES_SERVICE_PORT", &options.port)}) {
    if (value->empty()) {
      return absl::FailedPreconditionError(
          fmt::format("{} is not set: the agent runs in no pod, and no kubeconfig is given", name));
    }
  }
  // An IPv6 address stands in brackets in a URL.
  if (options.host.find(':') != std::string::npos) {
    options.host = fmt::format("[{}]", options.host);
  }
  std::unique_ptr<KubeAccess> access = std::make_unique<ServiceAccount>(
      fmt::format("https://{}:{}", options.host, options.port), options.folder, clock);
  if (const auto first = access->Get(); !first.ok()) return first.status();
  return access;
}

}  // namespace phantomd
