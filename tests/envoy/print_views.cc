#include "tests/envoy/print_views.h"

#include <fmt/format.h>

namespace phantomd {

std::string Print(const ServerInfo& info) {
  return fmt::format("{} {} {} {}", info.version, static_cast<int>(info.state), info.node_id,
                     info.uptime.count());
}

std::string Print(const HostSets& sets) {
  std::string out;
  for (const auto& cluster : sets.clusters) {
    out += fmt::format("{} ({})\n", cluster.name, cluster.eds_service_name);
    for (const auto& host : cluster.hosts) {
      out += fmt::format("  {} {} {}/{} {}{}{}\n", host.address.ToString(), host.tunnelled,
                         host.connects, host.connect_failures, host.pending_removal,
                         host.failed_outlier_check, host.failed_active_health_check);
    }
  }
  return out;
}

std::string Print(const ConfigDump& dump) {
  std::string out;
  for (const auto& cluster : dump.clusters) {
    out += fmt::format("{} ({}) [{}] {} {} {} {}\n", cluster.name, cluster.eds_service_name,
                       cluster.stat_name, cluster.service, static_cast<int>(cluster.discovery),
                       cluster.from_bootstrap, static_cast<int>(cluster.layer));
  }
  for (const auto& assignment : dump.assignments) {
    out += fmt::format("{}:\n", assignment.cluster_name);
    for (const auto& endpoint : assignment.endpoints) {
      out +=
          fmt::format("  {} {} {} {} {}", endpoint.address.ToString(), endpoint.tunnelled,
                      endpoint.workload, endpoint.mesh_cluster, static_cast<int>(endpoint.health));
      for (const auto& further : endpoint.additional) out += " " + further.ToString();
      out += "\n";
    }
  }
  return out;
}

}  // namespace phantomd
