// QueryService: phantom.v1.PhantomService over the last published report.
//
// It computes nothing: a method reads one report, which stays as it is while it does. Only
// ExplainAddress asks the core, and waits at most `explain_deadline` (or the caller's own
// deadline).
//
// Thread-safe: gRPC calls it from its own threads.
#pragma once

#include <atomic>
#include <chrono>

#include "agent/base/boot_time.h"
#include "agent/base/published.h"
#include "agent/engine/address_explanation.h"
#include "agent/engine/report.h"
#include "agent/serve/agent_health.h"
#include "agent/serve/explain_question.h"
#include "phantom/v1/query.grpc.pb.h"

namespace phantomd {

// Where the answers come from. All must outlive who borrows them.
struct AnswerSources {
  const Published<Report>& report;
  const Published<AgentHealth>& health;
  ExplainQuestions& questions;
};

class QueryService final : public phantom::v1::PhantomService::Service {
 public:
  QueryService(AnswerSources sources, Nanos explain_deadline)
      : sources_(sources), explain_deadline_(explain_deadline) {}

  // From now on watchers are told that the agent is stopping.
  void Stop() { stopping_ = true; }

  grpc::Status GetStatus(grpc::ServerContext* context, const phantom::v1::GetStatusRequest* request,
                         phantom::v1::Status* response) override;
  grpc::Status ListProxies(grpc::ServerContext* context,
                           const phantom::v1::ListProxiesRequest* request,
                           phantom::v1::ListProxiesResponse* response) override;
  grpc::Status ListRollouts(grpc::ServerContext* context,
                            const phantom::v1::ListRolloutsRequest* request,
                            phantom::v1::ListRolloutsResponse* response) override;
  grpc::Status GetRollout(grpc::ServerContext* context,
                          const phantom::v1::GetRolloutRequest* request,
                          phantom::v1::Rollout* response) override;
  grpc::Status ListConnections(grpc::ServerContext* context,
                               const phantom::v1::ListConnectionsRequest* request,
                               phantom::v1::ListConnectionsResponse* response) override;
  // Begins with the first connection judged after the call was accepted, which the initial
  // metadata tells the client. The report's ring is the buffer: a reader misses what has left it.
  grpc::Status WatchConnections(
      grpc::ServerContext* context, const phantom::v1::WatchConnectionsRequest* request,
      grpc::ServerWriter<phantom::v1::WatchConnectionsResponse>* writer) override;
  grpc::Status ListStaleEndpoints(grpc::ServerContext* context,
                                  const phantom::v1::ListStaleEndpointsRequest* request,
                                  phantom::v1::ListStaleEndpointsResponse* response) override;
  grpc::Status ExplainAddress(grpc::ServerContext* context,
                              const phantom::v1::ExplainAddressRequest* request,
                              phantom::v1::AddressExplanation* response) override;

 private:
  const AnswerSources sources_;
  const Nanos explain_deadline_;
  std::atomic<bool> stopping_ = false;
};

}  // namespace phantomd
