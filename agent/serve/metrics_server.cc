#include "agent/serve/metrics_server.h"

#include <fmt/format.h>
#include <microhttpd.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "agent/base/strings.h"
#include "agent/serve/metrics.h"
#include "agent/serve/tcp_listener.h"

namespace phantomd {
namespace {

MHD_Result Reply(MHD_Connection* connection, unsigned status, const char* type,
                 std::string_view body) {
  MHD_Response* response = MHD_create_response_from_buffer(
      body.size(), const_cast<char*>(body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

}  // namespace

struct MetricsServer::Answerer {
  static MHD_Result Answer(void* server, MHD_Connection* connection, const char* path,
                           const char* method, const char*, const char*, size_t* body_size,
                           void** seen) {
    // The library asks first when the header is there, then for each part of a body, then to
    // answer.
    if (*seen == nullptr) {
      *seen = connection;
      return MHD_YES;
    }
    if (*body_size > 0) {
      *body_size = 0;
      return MHD_YES;
    }
    constexpr const char* kSentence = "text/plain; charset=utf-8";
    if (std::string_view(path) != "/metrics") {
      return Reply(connection, MHD_HTTP_NOT_FOUND, kSentence, "there is /metrics\n");
    }
    const std::string_view asked = method;
    if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD) {
      return Reply(connection, MHD_HTTP_METHOD_NOT_ALLOWED, kSentence, "there are GET and HEAD\n");
    }
    try {
      return Reply(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8",
                   static_cast<const MetricsServer*>(server)->page_());
    } catch (const std::exception& failure) {  // must not cross the library's frames
      return Reply(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, kSentence,
                   fmt::format("the page cannot be made: {}\n", failure.what()));
    }
  }
};

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(
    const std::string& address, const Published<Report>& report,
    const Published<AgentHealth>& health) {
  const auto cannot = [&address](std::string_view why) {
    return absl::FailedPreconditionError(
        fmt::format("{}: cannot serve metrics there: {}", address, why));
  };
  const absl::StatusOr<HostPort> where = ParseHostPort(address);
  if (!where.ok()) return cannot(FromAbsl(where.status().message()));
  const absl::StatusOr<TcpListener> listener = TcpListener::Listen(*where);
  if (!listener.ok()) return cannot(FromAbsl(listener.status().message()));
  const int fd = dup(listener->fd());  // the library closes it
  if (fd < 0) return cannot(std::strerror(errno));
  std::unique_ptr<MetricsServer> server(new MetricsServer(listener->port(), [&report, &health] {
    return prometheus::TextSerializer().Serialize(CollectMetrics(*report.Get(), *health.Get()));
  }));
  // The eventfd wakes its thread at the end, whatever it waits for.
  server->daemon_ =
      MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr,
                       &Answerer::Answer, server.get(), MHD_OPTION_LISTEN_SOCKET, fd,
                       MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(kPatience.count()),
                       MHD_OPTION_CONNECTION_LIMIT, kMostConnections, MHD_OPTION_END);
  if (server->daemon_ == nullptr) {
    close(fd);
    return cannot("the HTTP library cannot start its thread");
  }
  return server;
}

MetricsServer::~MetricsServer() {
  if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
}

}  // namespace phantomd
