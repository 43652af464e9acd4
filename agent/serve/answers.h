// The answers to the queries that a report alone can answer, without gRPC: one function per method.
//
// Each reads one published report, computes nothing and fills in the response, or says what is
// wrong with the request.
//
// Pure functions.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "agent/engine/report.h"
#include "agent/serve/agent_health.h"
#include "phantom/v1/query.pb.h"

namespace phantomd {

// The report's status, with what only the edges know.
void AnswerStatus(const Report& report, const AgentHealth& health, phantom::v1::Status* out);

absl::Status AnswerProxies(const Report& report, const phantom::v1::ListProxiesRequest& request,
                           phantom::v1::ListProxiesResponse* out);

absl::Status AnswerRollouts(const Report& report, const phantom::v1::ListRolloutsRequest& request,
                            phantom::v1::ListRolloutsResponse* out);

absl::Status AnswerRollout(const Report& report, const phantom::v1::GetRolloutRequest& request,
                           phantom::v1::Rollout* out);

// Newest first in the order of judgement; start_time and end_time bound the SYN, end exclusive.
absl::Status AnswerConnections(const Report& report,
                               const phantom::v1::ListConnectionsRequest& request,
                               phantom::v1::ListConnectionsResponse* out);

absl::Status AnswerStaleEndpoints(const Report& report,
                                  const phantom::v1::ListStaleEndpointsRequest& request,
                                  phantom::v1::ListStaleEndpointsResponse* out);

}  // namespace phantomd
