// Kubeconfig: one context of a kubeconfig file, with the cluster and the user that it names.
//
// Data stands decoded; paths are absolute, or relative to the working directory if the kubeconfig's
// own path was. As in kubectl, certificate-authority-data and its like win over the file, and
// tokenFile over token. What phantomd cannot do is refused by name, as it would otherwise talk to
// the server as somebody else: auth-provider, username and password, as (impersonation).
//
// Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/kube/secret.h"

namespace phantomd {

struct KubeconfigExec {
  std::string command;
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;
  std::string api_version;  // "client.authentication.k8s.io/v1" or ".../v1beta1"
  std::string install_hint;
  bool provide_cluster_info = false;
};

struct Kubeconfig {
  std::string context;
  std::string server;  // no slash at the end
  std::string ca_pem, ca_file;
  bool insecure_skip_tls_verify = false;
  std::string tls_server_name;
  std::string proxy_url;
  Secret token;
  std::string token_file;
  std::string client_cert_pem, client_cert_file;
  Secret client_key_pem;
  std::string client_key_file;
  std::optional<KubeconfigExec> exec;
};

// `yaml`: the content of the file at `path`. `context` empty: its current-context. The error is a
// sentence that begins with the path.
absl::StatusOr<Kubeconfig> ParseKubeconfig(const std::string& yaml, const std::string& path,
                                           const std::string& context);

}  // namespace phantomd
