// Which Kubernetes Service a name of the mesh means, and which workload an endpoint's metadata.
//
//   outbound|8080|v2|catalog.shop.svc.cluster.local           -> shop/catalog  (cluster)
//   outbound_.8080_._.catalog.shop.svc.cluster.local          -> shop/catalog  (cluster, SNI
//   router) catalog-0.catalog.shop.svc.cluster.local:8080             -> shop/catalog  (host name)
//   api.example.com                                           -> none
//   catalog-v1;shop;catalog;v1;Kubernetes                     -> shop/catalog-v1 in Kubernetes
//
// Only names with a label "svc" are Services: a ServiceEntry's host has no EndpointSlices, and
// nothing may be concluded from their absence.
//
// Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace phantomd {

// "namespace/name", or empty.
std::string ServiceOfHost(std::string_view host);
std::string ServiceOfCluster(std::string_view cluster_name);

struct MeshWorkload {
  std::string workload;      // "namespace/name", or empty
  std::string mesh_cluster;  // the cluster ID, or empty
};

// The value of Istio's endpoint metadata `workload`. Parts that are missing stay empty.
MeshWorkload ParseIstioWorkload(std::string_view text);

}  // namespace phantomd
