#include "agent/envoy/service_name.h"

#include <fmt/format.h>

#include <array>

namespace phantomd {

std::string ServiceOfHost(std::string_view host) {
  // A port or a subset mark ends the name.
  host = host.substr(0, host.find_first_of(":|/"));
  size_t svc = host.find(".svc.");
  if (svc == std::string_view::npos) {
    if (host.size() < 4 || host.substr(host.size() - 4) != ".svc") return {};
    svc = host.size() - 4;
  }
  const std::string_view labels = host.substr(0, svc);
  const size_t dot = labels.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view ns = labels.substr(dot + 1);
  std::string_view name = labels.substr(0, dot);
  // In front of the Service's name there may be a pod's: catalog-0.catalog.shop.svc.
  if (const size_t pod = name.rfind('.'); pod != std::string_view::npos)
    name.remove_prefix(pod + 1);
  if (name.empty() || ns.empty() || name == "*") return {};
  return fmt::format("{}/{}", ns, name);
}

std::string ServiceOfCluster(std::string_view cluster_name) {
  if (const size_t bar = cluster_name.rfind('|'); bar != std::string_view::npos) {
    return ServiceOfHost(cluster_name.substr(bar + 1));
  }
  if (const size_t mark = cluster_name.rfind("_."); mark != std::string_view::npos) {
    return ServiceOfHost(cluster_name.substr(mark + 2));
  }
  return ServiceOfHost(cluster_name);
}

MeshWorkload ParseIstioWorkload(std::string_view text) {
  std::array<std::string_view, 5> parts;  // name; namespace; service; revision; cluster
  for (std::string_view& part : parts) {
    const size_t end = text.find(';');
    part = text.substr(0, end);
    if (end == std::string_view::npos) {
      text = {};
    } else {
      text.remove_prefix(end + 1);
    }
  }
  MeshWorkload out;
  if (!parts[0].empty() && !parts[1].empty()) {
    out.workload.reserve(parts[1].size() + 1 + parts[0].size());
    out.workload.append(parts[1]).append("/").append(parts[0]);
  }
  out.mesh_cluster.assign(parts[4]);
  return out;
}

}  // namespace phantomd
