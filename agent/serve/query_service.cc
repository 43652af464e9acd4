#include "agent/serve/query_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/serve/answers.h"
#include "agent/serve/connection_tail.h"
#include "agent/serve/filter.h"
#include "agent/serve/request_time.h"
#include "agent/wire/report_wire.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;

// How soon a watcher notices that its client is gone while nothing is judged.
constexpr auto kCancelCheck = std::chrono::milliseconds(100);

// The two number their codes alike.
grpc::Status ToGrpc(const absl::Status& status) {
  return {static_cast<grpc::StatusCode>(status.code()), std::string(status.message())};
}

grpc::Status Stopping() { return {grpc::StatusCode::UNAVAILABLE, "the agent is stopping"}; }

absl::StatusOr<SocketAddr> ParseAddress(const std::string& text) {
  if (const auto ip = IpAddr::Parse(text); ip.ok()) return SocketAddr{.ip = *ip};
  if (const auto address = SocketAddr::Parse(text); address.ok()) return *address;
  return absl::InvalidArgumentError(
      fmt::format("address: \"{}\" is neither an IP address nor IP:PORT", text));
}

}  // namespace

grpc::Status QueryService::GetStatus(grpc::ServerContext*, const pb::GetStatusRequest*,
                                     pb::Status* response) {
  AnswerStatus(*sources_.report.Get(), *sources_.health.Get(), response);
  return grpc::Status::OK;
}

grpc::Status QueryService::ListProxies(grpc::ServerContext*, const pb::ListProxiesRequest* request,
                                       pb::ListProxiesResponse* response) {
  return ToGrpc(AnswerProxies(*sources_.report.Get(), *request, response));
}

grpc::Status QueryService::ListRollouts(grpc::ServerContext*,
                                        const pb::ListRolloutsRequest* request,
                                        pb::ListRolloutsResponse* response) {
  return ToGrpc(AnswerRollouts(*sources_.report.Get(), *request, response));
}

grpc::Status QueryService::GetRollout(grpc::ServerContext*, const pb::GetRolloutRequest* request,
                                      pb::Rollout* response) {
  return ToGrpc(AnswerRollout(*sources_.report.Get(), *request, response));
}

grpc::Status QueryService::ListConnections(grpc::ServerContext*,
                                           const pb::ListConnectionsRequest* request,
                                           pb::ListConnectionsResponse* response) {
  return ToGrpc(AnswerConnections(*sources_.report.Get(), *request, response));
}

grpc::Status QueryService::ListStaleEndpoints(grpc::ServerContext*,
                                              const pb::ListStaleEndpointsRequest* request,
                                              pb::ListStaleEndpointsResponse* response) {
  return ToGrpc(AnswerStaleEndpoints(*sources_.report.Get(), *request, response));
}

grpc::Status QueryService::WatchConnections(
    grpc::ServerContext* context, const pb::WatchConnectionsRequest* request,
    grpc::ServerWriter<pb::WatchConnectionsResponse>* writer) {
  const auto filter = ConnectionFilter::Parse(request->filter());
  if (!filter.ok()) return ToGrpc(filter.status());
  std::shared_ptr<const Report> report = sources_.report.Get();
  ConnectionTail tail(*report);
  writer->SendInitialMetadata();
  while (!context->IsCancelled()) {
    report = sources_.report.GetNewer(report, kCancelCheck);
    const ConnectionTail::News news = tail.Next(*report);
    pb::WatchConnectionsResponse event;
    if (news.missed > 0) {
      event.set_missed(news.missed);
      if (!writer->Write(event)) break;
    }
    const ReportEncoder encoder(*report);
    for (const auto& connection : news.connections) {
      if (!filter->Matches(*connection, encoder)) continue;
      event.mutable_connection()->Clear();
      encoder.Encode(*connection, event.mutable_connection());
      // Blocks while the client does not read; meanwhile the ring moves on.
      if (!writer->Write(event)) return grpc::Status::OK;
    }
  }
  return grpc::Status::OK;
}

grpc::Status QueryService::ExplainAddress(grpc::ServerContext* context,
                                          const pb::ExplainAddressRequest* request,
                                          pb::AddressExplanation* response) {
  const std::shared_ptr<const Report> report = sources_.report.Get();
  const auto address = ParseAddress(request->address());
  if (!address.ok()) return ToGrpc(address.status());
  auto question = std::make_unique<ExplainQuestion>();
  question->address = *address;
  if (request->has_time()) {
    const auto time = RequestTime("time", request->time(), report->offset);
    if (!time.ok()) return ToGrpc(time.status());
    question->time = *time;
  }
  std::future<AddressExplanation> answer = question->answer.get_future();
  if (!sources_.questions.TryPost(std::move(question))) {
    if (sources_.questions.closed()) return Stopping();
    return {grpc::StatusCode::RESOURCE_EXHAUSTED, "too many questions wait for an answer already"};
  }
  const auto deadline = std::min(
      context->deadline(),
      std::chrono::system_clock::now() +
          std::chrono::duration_cast<std::chrono::system_clock::duration>(explain_deadline_));
  if (answer.wait_until(deadline) != std::future_status::ready) {
    return {grpc::StatusCode::DEADLINE_EXCEEDED,
            "the agent's core is busy and did not answer in time"};
  }
  try {
    ReportEncoder(*report).Encode(answer.get(), response);
  } catch (const std::future_error&) {
    return Stopping();
  }
  return grpc::Status::OK;
}

}  // namespace phantomd
