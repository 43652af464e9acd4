// DecodeUpdateTimes reads cluster.<stat name>.update_time from /stats?format=json: when the control
// plane last sent each cluster's endpoints, on the wall clock of the proxy's machine (ours).
//
// The statistic exists for EDS clusters, dates an unchanged update as well, and Istio's default
// bootstrap leaves it out. Statistic names are not cluster names (Istio appends ";", every ":" is
// printed as "_", and a name may hold anything), so a line counts only if a cluster that the dump
// named would have that statistic.
//
// Pure function over bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "agent/base/boot_time.h"
#include "agent/envoy/config_dump.h"

namespace phantomd {

// By cluster name. Unset: the statistic is kept, but no update has come yet.
using UpdateTimes = absl::flat_hash_map<std::string, WallTime>;

// From which statistic name, as printed, to which cluster name.
using StatNames = absl::flat_hash_map<std::string, std::string>;
StatNames UpdateTimeStatNames(const std::vector<ClusterConfig>& clusters);

// Asks for these statistics alone.
inline constexpr char kUpdateTimesPath[] =
    "/stats?format=json&filter=%5Ecluster%5C..%2A%5C.update_time%24";

absl::StatusOr<UpdateTimes> DecodeUpdateTimes(std::string_view bytes, const StatNames& names);

}  // namespace phantomd
