// A cluster of any size, told as its control plane would tell it, for measuring: Deployments of 50
// pods behind one Service each, every pod with an address, a UID and a name of the usual form, on
// Nodes of 100 pods.
//
// Pod n belongs to Service n / 50. A proxy believes in kServicesOfProxy Services, those from its
// own number on: a sidecar whose scope is narrowed, of which a node has many. Plain and
// deterministic.
#pragma once

#include <string>

#include "agent/engine/input.h"

namespace phantomd::bench {

inline constexpr int kPodsOfService = 50;
inline constexpr int kServicesOfProxy = 20;
inline constexpr int kEndpointsOfProxy = kPodsOfService * kServicesOfProxy;
inline constexpr uint16_t kPort = 8080;

BootTime At(double seconds);
IpAddr IpOf(int pod);
std::string ServiceOf(int pod);  // "namespace/name"
PodChange Running(int pod);
// One slice for each Service; empty once its pods are not listed.
SliceChange Slice(int service, bool listed);

ProxyId ProxyOf(int number);
ProxyChange Proxy(int number);
// Complete, all that the proxy believes in, of a cluster of `pods` pods.
BeliefSnapshot Poll(int proxy, int pods, BootTime received);
// Incremental: nothing changed.
BeliefSnapshot Unchanged(int proxy, BootTime received);
// The n-th pod that the proxy believes in.
int PodOfProxy(int proxy, int n, int pods);

// A connect of the proxy to one of its endpoints.
Attempt Connect(int proxy, int pod, BootTime syn, Outcome outcome);

}  // namespace phantomd::bench
