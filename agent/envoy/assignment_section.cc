// The EDS part of a config dump. It is by far the largest: one endpoint takes some 800 bytes.
#include <utility>

#include "agent/envoy/config_sections.h"
#include "agent/envoy/endpoint_address.h"
#include "agent/envoy/service_name.h"

namespace phantomd {
namespace {

bool ReadAdditionalAddress(JsonWalk& walk, JsonWalk::Value value, AssignedEndpoint& endpoint) {
  EndpointAddress further;
  const bool read =
      walk.Fields(value, "additional_addresses", [&](JsonKey key, JsonWalk::Value inner) {
        return !Named(key, "address") || ReadEndpointAddress(walk, inner, further);
      });
  if (further.address.has_value()) endpoint.additional.push_back(*further.address);
  return read;
}

bool ReadMetadata(JsonWalk& walk, JsonWalk::Value value, AssignedEndpoint& endpoint) {
  return walk.Fields(value, "metadata", [&](JsonKey key, JsonWalk::Value filters) {
    if (!Named(key, "filter_metadata")) return true;
    return walk.Fields(filters, "filter_metadata", [&](JsonKey filter, JsonWalk::Value fields) {
      if (!Named(filter, "istio")) return true;
      return walk.Fields(fields, "filter_metadata.istio", [&](JsonKey name, JsonWalk::Value inner) {
        if (!Named(name, "workload")) return true;
        std::string_view text;
        if (!walk.Text(inner, "metadata workload", text)) return false;
        MeshWorkload parsed = ParseIstioWorkload(text);
        endpoint.workload = std::move(parsed.workload);
        endpoint.mesh_cluster = std::move(parsed.mesh_cluster);
        return true;
      });
    });
  });
}

EndpointHealth HealthOf(std::string_view text) {
  if (text == "HEALTHY") return EndpointHealth::kHealthy;
  if (text == "UNHEALTHY" || text == "TIMEOUT") return EndpointHealth::kUnhealthy;
  if (text == "DEGRADED") return EndpointHealth::kDegraded;
  if (text == "DRAINING") return EndpointHealth::kDraining;
  return EndpointHealth::kUnknown;
}

bool ReadLbEndpoint(JsonWalk& walk, JsonWalk::Value value, EndpointAssignment& assignment) {
  AssignedEndpoint endpoint;
  EndpointAddress address;
  const bool read = walk.Fields(value, "lb_endpoints", [&](JsonKey key, JsonWalk::Value inner) {
    if (Named(key, "endpoint")) {
      return walk.Fields(inner, "endpoint", [&](JsonKey name, JsonWalk::Value part) {
        if (Named(name, "address")) return ReadEndpointAddress(walk, part, address);
        if (!Named(name, "additional_addresses")) return true;
        return walk.Elements(part, "additional_addresses", [&](JsonWalk::Value further) {
          return ReadAdditionalAddress(walk, further, endpoint);
        });
      });
    }
    if (Named(key, "health_status")) {
      std::string_view health;
      if (!walk.Text(inner, "health_status", health)) return false;
      endpoint.health = HealthOf(health);
      return true;
    }
    if (Named(key, "metadata")) return ReadMetadata(walk, inner, endpoint);
    return true;
  });
  if (!read) return false;
  if (address.address.has_value()) {
    endpoint.address = *address.address;
    endpoint.tunnelled = address.tunnelled;
    assignment.endpoints.push_back(std::move(endpoint));
  }
  return true;
}

}  // namespace

bool ReadAssignment(JsonWalk& walk, JsonWalk::Value value, ConfigDump& dump) {
  EndpointAssignment assignment;
  const bool read =
      walk.Fields(value, "endpoint_configs", [&](JsonKey key, JsonWalk::Value config) {
        if (!Named(key, "endpoint_config")) return true;
        return walk.Fields(config, "endpoint_config", [&](JsonKey name, JsonWalk::Value inner) {
          if (Named(name, "cluster_name")) {
            return walk.Text(inner, "endpoint_config.cluster_name", assignment.cluster_name);
          }
          if (!Named(name, "endpoints")) return true;
          return walk.Elements(inner, "endpoints", [&](JsonWalk::Value locality) {
            return walk.Fields(locality, "endpoints", [&](JsonKey part, JsonWalk::Value endpoints) {
              if (!Named(part, "lb_endpoints")) return true;
              return walk.Elements(endpoints, "lb_endpoints", [&](JsonWalk::Value one) {
                return ReadLbEndpoint(walk, one, assignment);
              });
            });
          });
        });
      });
  if (!read) return false;
  if (assignment.cluster_name.empty()) {
    return walk.Fail("endpoint_config.cluster_name", simdjson::NO_SUCH_FIELD);
  }
  dump.assignments.push_back(std::move(assignment));
  return true;
}

}  // namespace phantomd
