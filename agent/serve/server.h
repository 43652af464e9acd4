// PhantomServer: the gRPC server of one agent, with the standard health and reflection services.
//
// It listens on Unix sockets ("unix:/path", mode 0660) and TCP addresses ("host:port"; port 0: one
// that is free), the latter with TLS where a certificate is given. Destroying it ends every call
// and removes the Unix sockets.
//
// Thread-compatible.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/serve/query_service.h"

namespace grpc {
class Server;
}

namespace phantomd {

class PhantomServer {
 public:
  struct Options {
    std::vector<std::string> listen;
    // PEM files. A client CA: clients must show a certificate that it signed.
    std::string tls_cert, tls_key, tls_client_ca;
    Nanos explain_deadline = std::chrono::seconds(2);
  };

  // One clear sentence when an address cannot be had or a file cannot be read.
  static absl::StatusOr<std::unique_ptr<PhantomServer>> Start(const Options& options,
                                                              AnswerSources sources);
  ~PhantomServer();

  // The ports of the TCP addresses, in their order.
  const std::vector<int>& ports() const { return ports_; }

 private:
  PhantomServer(AnswerSources sources, Nanos explain_deadline);

  QueryService service_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<int> ports_;
};

}  // namespace phantomd
