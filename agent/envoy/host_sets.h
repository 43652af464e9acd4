// DecodeHostSets reads Envoy's /clusters?format=json: what the proxy will really connect to, and
// how often it did.
//
// Accepted are the printed form (64-bit numbers as strings) and the compact, streamed form of newer
// releases (numbers as numbers, zero counters left out), and both spellings of names.
//
// A streamed answer is not one atomic view: between its chunks Envoy's main thread does other work.
//
// Pure function over bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/base/ip_addr.h"

namespace phantomd {

struct HostSets {
  struct Host {
    SocketAddr address;
    bool tunnelled = false;         // HBONE: connections go to {address.ip, kHbonePort}
    uint64_t connects = 0;          // cx_total since this host object was made
    uint64_t connect_failures = 0;  // cx_connect_fail
    bool pending_removal = false;   // the control plane removed it, health checks still hold it
    bool failed_outlier_check = false;
    bool failed_active_health_check = false;
  };
  struct Cluster {
    std::string name;
    std::string eds_service_name;  // empty: its name
    std::vector<Host> hosts;       // in Envoy's order; pipes and unresolved names are left out
  };
  std::vector<Cluster> clusters;
};

absl::StatusOr<HostSets> DecodeHostSets(std::string_view bytes);

}  // namespace phantomd
