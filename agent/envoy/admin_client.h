// AdminClient asks admin APIs over HTTP/1.1, any number of them at once, on one thread.
//
// Each request has its own connection, which is closed behind it: a connection that was kept would
// keep a dead pod's network namespace alive, and two proxies at 127.0.0.1:15000 of two namespaces
// must never share one.
//
// Errors are sorted by code, and name the request: NotFound, PermissionDenied (the namespace),
// Unavailable (no connection, or it broke), DeadlineExceeded, FailedPrecondition (HTTP status other
// than 200), ResourceExhausted (too large), DataLoss (not HTTP, or cut short).
//
// For one thread, but for Wake().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/base/clock.h"
#include "agent/base/ip_addr.h"
#include "agent/envoy/admin_sockets.h"

namespace phantomd {

struct AdminClientOptions {
  Nanos timeout = std::chrono::seconds(5);  // from the request to the end of the answer
  size_t max_bytes = size_t{256} << 20;     // of one answer
};

struct AdminReply {
  uint64_t token = 0;
  absl::StatusOr<std::string> body;
  BootTime requested;  // before the request was sent
  BootTime received;   // after the answer's last byte came
  Nanos served{0};     // from the request being sent to the last byte: the proxy's time
};

class AdminClient {
 public:
  AdminClient(AdminClientOptions options, const Clock& clock);
  ~AdminClient();
  AdminClient(const AdminClient&) = delete;
  AdminClient& operator=(const AdminClient&) = delete;

  // Starts GET http://`at``path`. `token` names the reply and must not be in use; `sockets` must
  // outlive the request.
  void Get(uint64_t token, AdminSockets& sockets, const SocketAddr& at, const std::string& path);
  // The request is given up: no reply will come.
  void Cancel(uint64_t token);
  // The replies that have come, waiting for the first one at most `timeout`.
  std::vector<AdminReply> Wait(Nanos timeout);
  // Ends a Wait() early. From any thread.
  void Wake();

 private:
  struct Transfer;
  void Perform();
  AdminReply Finish(Transfer& transfer, int curl_code);

  const AdminClientOptions options_;
  const Clock& clock_;
  void* multi_;  // CURLM
  absl::flat_hash_map<uint64_t, std::unique_ptr<Transfer>> transfers_;
};

// "connect", "timeout", "http", "too_large", "half_answer", "namespace", "rubbish", "refused": the
// kinds by which failed polls are counted.
std::string_view AdminErrorKind(const absl::Status& status);

}  // namespace phantomd
