#include "agent/serve/query_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "agent/serve/answers.h"
#include "agent/serve/connection_tail.h"
#include "agent/serve/filter.h"
#include "agent/serve/request_time.h"
#include "agent/serve/watch_begun.h"
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

// "fd00::1:80" is an address, and may be meant as one with a port.
bool MayEndInAPort(std::string_view text) {
  const size_t colon = text.rfind(':');
  return SocketAddr::Parse(fmt::format("[{}]{}", text.substr(0, colon), text.substr(colon))).ok();
}

// "10.0.0.1", "10.0.0.1:80", "fd00::a", "[fd00::1]", "[fd00::1]:80".
absl::StatusOr<SocketAddr> ParseAddress(const std::string& text) {
  if (const auto ip = IpAddr::Parse(text); ip.ok()) {
    if (text.find(':') != std::string::npos && MayEndInAPort(text)) {
      const size_t colon = text.rfind(':');
      return absl::InvalidArgumentError(
          fmt::format("address: \"{}\" may be an address or one with a port: write [{}] or [{}]{}",
                      text, text, text.substr(0, colon), text.substr(colon)));
    }
    return SocketAddr{.ip = *ip};
  }
  if (const auto address = SocketAddr::Parse(text); address.ok()) return *address;
  if (text.size() > 2 && text.front() == '[' && text.back() == ']') {
    const auto ip = IpAddr::Parse(text.substr(1, text.size() - 2));
    if (ip.ok() && !ip->is_v4()) return SocketAddr{.ip = *ip};
  }
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
  context->AddInitialMetadata(kWatchBegun, "1");
  writer->SendInitialMetadata();
  while (!context->IsCancelled()) {
    if (stopping_) return Stopping();
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
    if (*time == BootTime::Max() || *time == BootTime::Min()) {
      return ToGrpc(absl::InvalidArgumentError("time: lies beyond the years 1678 to 2262"));
    }
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
