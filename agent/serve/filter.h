// The filter language of the lists: "key=value key=value", all of which must hold; a key that is
// given twice may have either value. Example: "class=DEAD class=REUSED layer=L4" is every phantom
// connection that no HTTP log shows.
//
// Values of enums are the names in proto/phantom/v1/types.proto, in any case. An unknown key or
// value is INVALID_ARGUMENT with one sentence that names it.
//
// Plain values, thread-compatible.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/engine/report.h"
#include "agent/wire/report_wire.h"

namespace phantomd {

// Keys: class, proxy (name or ID), rollout (name), cause, layer, outcome, initiator, certainty.
class ConnectionFilter {
 public:
  static absl::StatusOr<ConnectionFilter> Parse(std::string_view text);

  // `encoder` is that of the report which the connection belongs to.
  bool Matches(const Connection& connection, const ReportEncoder& encoder) const;

 private:
  std::vector<DestinationClass> classes_;
  std::vector<std::string> proxies_;
  std::vector<std::string> rollouts_;
  std::vector<Cause> causes_;
  std::vector<Layer> layers_;
  std::vector<Outcome> outcomes_;
  std::vector<Initiator> initiators_;
  std::vector<Certainty> certainties_;
};

// Keys: namespace, workload, kind, departure.
class RolloutFilter {
 public:
  static absl::StatusOr<RolloutFilter> Parse(std::string_view text);

  bool Matches(const RolloutReport& rollout) const;

 private:
  std::vector<std::string> namespaces_;
  std::vector<std::string> workloads_;
  std::vector<std::string> kinds_;
  std::vector<Departure> departures_;
};

}  // namespace phantomd
