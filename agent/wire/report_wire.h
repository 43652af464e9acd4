// Report and its parts -> the messages of proto/phantom/v1/query.proto, for gRPC and phantomctl.
//
// One way only: nobody sends a report to the agent. Every instant of the core becomes wall time by
// the report's `offset`; an instant or duration that is unset there is an absent field here.
// Example: offset 1000 s, started at BootTime 5 s -> "1970-01-01T00:16:45Z".
// The same value always gives the same bytes.
//
// Pure functions.
#pragma once

#include <string>

#include "agent/engine/address_explanation.h"
#include "agent/engine/report.h"
#include "phantom/v1/query.pb.h"

namespace phantomd {

// What a part of a report needs from the whole to be shown to people.
class ReportEncoder {
 public:
  // `report` must outlive the encoder.
  explicit ReportEncoder(const Report& report) : report_(report) {}

  void Encode(const StatusReport& status, phantom::v1::Status* out) const;
  void Encode(const ProxyReport& proxy, phantom::v1::ProxyStatus* out) const;
  // With the window of each proxy, or without: a list of rollouts leaves them out.
  enum class Windows { kWithout, kWith };
  void Encode(const RolloutReport& rollout, Windows windows, phantom::v1::Rollout* out) const;
  void Encode(const Connection& connection, phantom::v1::Connection* out) const;
  void Encode(const StaleEndpointReport& endpoint, phantom::v1::StaleEndpoint* out) const;
  void Encode(const AddressExplanation& explanation, phantom::v1::AddressExplanation* out) const;

  // Name of the change that took the connection's last holder away; empty: none.
  std::string RolloutOf(const Connection& connection) const;

 private:
  void Encode(const Holder& holder, phantom::v1::Holder* out) const;
  void Encode(const ProxyWindow& window, phantom::v1::ProxyWindow* out) const;

  const Report& report_;
};

// The whole of it, connections newest first, rollouts with their windows.
void EncodeReport(const Report& report, phantom::v1::Report* out);

}  // namespace phantomd
