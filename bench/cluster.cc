#include "bench/cluster.h"

#include <algorithm>
#include <cmath>

#include "fmt/format.h"

namespace phantomd::bench {

BootTime At(double seconds) { return BootTime::FromNanos(std::llround(seconds * 1e9)); }

IpAddr IpOf(int pod) {
  return IpAddr::V4(10, static_cast<uint8_t>(pod >> 16), static_cast<uint8_t>(pod >> 8),
                    static_cast<uint8_t>(pod));
}

std::string ServiceOf(int pod) {
  const int service = pod / kPodsOfService;
  return fmt::format("team-{}/catalog-{:04}", service % 100, service);
}

PodChange Running(int number) {
  const int workload = number / kPodsOfService;
  const std::string name = fmt::format("catalog-{:04}", workload);
  const std::string hash = fmt::format("{:x}", 0x5d8f7c0000 + workload);
  PodChange pod;
  pod.pod = {.uid = PodUid(fmt::format("{:08x}-52d1-4e6b-9c3a-{:012x}",
                                       static_cast<uint32_t>(number) * 2654435761u,
                                       static_cast<uint64_t>(number))),
             .ns = fmt::format("team-{}", workload % 100),
             .name = fmt::format("{}-{}-{:05x}", name, hash, number),
             .workload = {fmt::format("team-{}", workload % 100), "Deployment", name},
             .revision = hash,
             .node_name = fmt::format("ip-10-0-{}-{}.eu-central-1.compute.internal",
                                      number % 1000 / 250, number % 250)};
  pod.ips = {IpOf(number)};
  pod.phase = PodPhase::kRunning;
  pod.ready = true;
  pod.created = WallTime::FromNanos(At(15).nanos());
  return pod;
}

SliceChange Slice(int service, bool listed) {
  const PodChange first = Running(service * kPodsOfService);
  SliceChange slice;
  slice.ns = first.pod.ns;
  slice.service = first.pod.workload.name;
  slice.name = fmt::format("{}-abcde", slice.service);
  slice.ports = {{.name = "http", .port = kPort}};
  for (int i = 0; listed && i < kPodsOfService; ++i) {
    const int pod = service * kPodsOfService + i;
    slice.endpoints.push_back({.addresses = {IpOf(pod)}, .pod_uid = Running(pod).pod.uid});
  }
  return slice;
}

ProxyId ProxyOf(int number) { return ProxyId(fmt::format("pod-{:06}/istio-proxy", number)); }

ProxyChange Proxy(int number) {
  ProxyChange change;
  change.proxy.id = ProxyOf(number);
  change.proxy.name = fmt::format("team-0/client-{}", number);
  change.proxy.role = ProxyRole::kSidecar;
  return change;
}

int PodOfProxy(int proxy, int n, int pods) {
  return (proxy * kPodsOfService + n) % std::max(pods, kEndpointsOfProxy);
}

BeliefSnapshot Poll(int proxy, int pods, BootTime received) {
  BeliefSnapshot snapshot = Unchanged(proxy, received);
  snapshot.complete = true;
  for (int s = 0; s < kServicesOfProxy; ++s) {
    BeliefSnapshot::Cluster& cluster = snapshot.clusters.emplace_back();
    const int first = PodOfProxy(proxy, s * kPodsOfService, pods);
    cluster.service = ServiceOf(first);
    cluster.name = fmt::format("outbound|8080||{}.svc.cluster.local", cluster.service);
    cluster.discovery = Discovery::kEds;
    cluster.layer = Layer::kL7;
    for (int i = 0; i < kPodsOfService; ++i) {
      cluster.endpoints.push_back(
          {.address = {IpOf(first + i), kPort}, .in_assignment = true, .in_host_set = true});
    }
  }
  return snapshot;
}

BeliefSnapshot Unchanged(int proxy, BootTime received) {
  BeliefSnapshot snapshot;
  snapshot.proxy_id = ProxyOf(proxy);
  snapshot.requested = received - std::chrono::milliseconds(4);
  snapshot.received = received;
  return snapshot;
}

Attempt Connect(int proxy, int pod, BootTime syn, Outcome outcome) {
  Attempt attempt;
  attempt.proxy_id = ProxyOf(proxy);
  attempt.initiator = Initiator::kProxy;
  attempt.source = {IpAddr::V4(10, 255, 0, 1), 40000};
  attempt.destination = {IpOf(pod), kPort};
  attempt.started = syn;
  attempt.ended = syn + std::chrono::milliseconds(1);
  attempt.outcome = outcome;
  return attempt;
}

}  // namespace phantomd::bench
