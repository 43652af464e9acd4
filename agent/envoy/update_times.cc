#include "agent/envoy/update_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "agent/base/strings.h"
#include "agent/envoy/json_walk.h"

namespace phantomd {
namespace {

std::string StatNameOf(std::string_view cluster) {
  std::string name = fmt::format("cluster.{}.update_time", cluster);
  std::replace(name.begin(), name.end(), ':', '_');
  return name;
}

bool ReadStat(JsonWalk& walk, JsonWalk::Value value, const StatNames& names, UpdateTimes& times) {
  constexpr uint64_t kLatest = std::numeric_limits<int64_t>::max() / 1'000'000;  // ms
  std::string_view stat;
  uint64_t millis = 0;
  const bool read = walk.Fields(value, "stats", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "name")) return walk.Text(inner, "stats.name", stat);
    if (Named(key, "value")) return walk.Number(inner, "stats.value", millis);
    return true;
  });
  if (!read) return false;
  const auto cluster = names.find(ToAbsl(stat));
  if (cluster == names.end()) return true;
  if (millis > kLatest) return walk.Fail("stats.value", simdjson::NUMBER_OUT_OF_RANGE);
  times[cluster->second] = WallTime::FromNanos(static_cast<int64_t>(millis) * 1'000'000);
  return true;
}

}  // namespace

StatNames UpdateTimeStatNames(const std::vector<ClusterConfig>& clusters) {
  StatNames names;
  for (const ClusterConfig& cluster : clusters) {
    names.emplace(StatNameOf(cluster.stat_name.empty() ? cluster.name : cluster.stat_name),
                  cluster.name);
  }
  return names;
}

absl::StatusOr<UpdateTimes> DecodeUpdateTimes(std::string_view bytes, const StatNames& names) {
  UpdateTimes times;
  bool has_stats = false;
  auto status = JsonWalk::ReadDocument(
      "/stats", bytes, [&](JsonWalk& walk, JsonKey key, JsonWalk::Value value) {
        if (!Named(key, "stats")) return true;
        has_stats = true;
        return walk.Elements(value, "stats", [&](JsonWalk::Value stat) {
          return ReadStat(walk, stat, names, times);
        });
      });
  if (!status.ok()) return status;
  if (!has_stats) {
    return absl::InvalidArgumentError("/stats: no stats in it, so not Envoy's answer");
  }
  return times;
}

}  // namespace phantomd
