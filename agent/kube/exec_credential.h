// ExecCredential: what an exec plugin of a kubeconfig is told and what it answers
// (client.authentication.k8s.io).
//
// Pure.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/kube/kubeconfig.h"
#include "agent/kube/secret.h"

namespace phantomd {

struct ExecCredential {
  Secret token;                 // empty: none
  std::string client_cert_pem;  // empty: none
  Secret client_key_pem;
  WallTime expires;  // unset: holds until the server refuses it
};

// The value of KUBERNETES_EXEC_INFO for the plugin. `ca_pem`: of the cluster.
std::string ExecInfo(const KubeconfigExec& exec, const Kubeconfig& config,
                     const std::string& ca_pem);

// `output`: what the plugin printed. The error is a clause without any of its content.
absl::StatusOr<ExecCredential> ParseExecCredential(std::string_view output,
                                                   const std::string& api_version);

}  // namespace phantomd
