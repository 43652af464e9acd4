// KubeAccess: where the API server is and what proves who the agent is.
//
// Files are read again when they may have changed: tokens and certificates of pods live for an hour
// and are replaced on disk. Get() never waits, and gives what is valid now; while an exec plugin
// runs it gives nothing, and is asked again.
//
// Errors are one sentence that names what is missing and where it was looked for. No secret is part
// of any. For one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "agent/base/clock.h"
#include "agent/kube/secret.h"

namespace phantomd {

struct KubeEndpoint {
  std::string server;           // "https://10.96.0.1:443"; no slash at the end
  std::string ca_pem;           // empty: the CAs of the system
  bool verify = true;           // false: whoever answers is believed (insecure-skip-tls-verify)
  std::string tls_name;         // the name in the server's certificate; empty: the host's
  std::string proxy_url;        // "http://", "https://" or "socks5://"; empty: none
  Secret token;                 // bearer token; empty: none
  std::string client_cert_pem;  // empty: no client certificate
  Secret client_key_pem;

  friend bool operator==(const KubeEndpoint&, const KubeEndpoint&) = default;
};

class KubeAccess {
 public:
  // How old what was read from a file may be, as in client-go (transport/token_source.go).
  static constexpr Nanos kReread = std::chrono::minutes(1);

  virtual ~KubeAccess() = default;
  // Nothing: not known yet, ask again soon.
  virtual absl::StatusOr<std::optional<KubeEndpoint>> Get() = 0;
  // The server refused it (401), or a certificate was of no use: the next Get() reads anew.
  virtual void Refused() = 0;
  // "the service account of this pod", "context prod of /etc/phantomd/kubeconfig".
  virtual const std::string& description() const = 0;
};

struct InClusterOptions {
  std::string host;  // KUBERNETES_SERVICE_HOST
  std::string port;  // KUBERNETES_SERVICE_PORT
  std::string folder = "/var/run/secrets/kubernetes.io/serviceaccount";
};
absl::StatusOr<std::unique_ptr<KubeAccess>> InClusterAccess(InClusterOptions options,
                                                            const Clock& clock);

// The kubeconfig is read once; the files that it names, again and again. `context` empty: its
// current-context.
absl::StatusOr<std::unique_ptr<KubeAccess>> KubeconfigAccess(const std::string& path,
                                                             const std::string& context,
                                                             const Clock& clock);

}  // namespace phantomd
