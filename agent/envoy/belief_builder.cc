#include "agent/envoy/belief_builder.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "agent/envoy/endpoint_address.h"
#include "agent/envoy/service_name.h"

namespace phantomd {
namespace {

using Endpoint = BeliefSnapshot::Endpoint;

uint64_t HashOfHosts(const HostSets::Cluster& cluster) {
  // Order-independent: Envoy may list the same set in another order.
  uint64_t sum = cluster.hosts.size();
  for (const HostSets::Host& host : cluster.hosts) {
    sum += absl::HashOf(host.address, host.tunnelled, host.pending_removal);
  }
  return sum;
}

uint64_t HashOfContent(const BeliefSnapshot::Cluster& cluster) {
  uint64_t hash =
      absl::HashOf(cluster.service, static_cast<int>(cluster.discovery),
                   static_cast<int>(cluster.layer), cluster.updated, cluster.endpoints.size());
  for (const Endpoint& e : cluster.endpoints) {
    hash = absl::HashOf(hash, e.address, e.in_assignment, e.in_host_set, e.pending_removal,
                        e.failed_outlier_check, e.failed_active_health_check, e.workload,
                        e.connects, e.connect_failures, e.mesh_cluster);
  }
  return hash;
}

// One address may be there twice, in two priorities or as a further address of another host.
void SortAndMerge(std::vector<Endpoint>& endpoints) {
  std::stable_sort(endpoints.begin(), endpoints.end(),
                   [](const Endpoint& a, const Endpoint& b) { return a.address < b.address; });
  size_t kept = 0;
  for (size_t i = 0; i < endpoints.size(); ++i) {
    if (kept > 0 && endpoints[kept - 1].address == endpoints[i].address) {
      Endpoint& into = endpoints[kept - 1];
      const Endpoint& from = endpoints[i];
      into.in_assignment |= from.in_assignment;
      into.pending_removal &= from.pending_removal;
      into.failed_outlier_check &= from.failed_outlier_check;
      into.failed_active_health_check &= from.failed_active_health_check;
      into.connects += from.connects;
      into.connect_failures += from.connect_failures;
      if (into.workload.empty()) into.workload = from.workload;
      if (into.mesh_cluster.empty()) into.mesh_cluster = from.mesh_cluster;
    } else {
      if (kept != i) endpoints[kept] = std::move(endpoints[i]);
      ++kept;
    }
  }
  endpoints.resize(kept);
}

}  // namespace

const std::string& BeliefBuilder::AssignmentName(const HostSets::Cluster& cluster) const {
  if (!cluster.eds_service_name.empty()) return cluster.eds_service_name;
  const auto known = clusters_.find(cluster.name);
  if (known != clusters_.end() && !known->second.config.eds_service_name.empty()) {
    return known->second.config.eds_service_name;
  }
  return cluster.name;
}

BeliefBuilder::Need BeliefBuilder::NeedFor(const HostSets& sets) const {
  Need need = Need::kNothing;
  for (const HostSets::Cluster& cluster : sets.clusters) {
    const auto known = clusters_.find(cluster.name);
    if (known == clusters_.end() || !known->second.configured) return Need::kWholeDump;
    if (need == Need::kAssignments || cluster.hosts.empty()) continue;
    const auto assignment = assignments_.find(AssignmentName(cluster));
    for (const HostSets::Host& host : cluster.hosts) {
      if (assignment == assignments_.end() || !assignment->second.contains(host.address)) {
        need = Need::kAssignments;
        break;
      }
    }
  }
  return need;
}

void BeliefBuilder::TakeWholeDump(ConfigDump dump) {
  for (auto& [name, known] : clusters_) known.configured = false;
  stat_names_ = UpdateTimeStatNames(dump.clusters);
  for (ClusterConfig& config : dump.clusters) {
    Known& known = clusters_[config.name];
    known.configured = true;
    known.config = std::move(config);
  }
  TakeAssignments(dump.assignments);
}

void BeliefBuilder::TakeAssignments(const std::vector<EndpointAssignment>& assignments) {
  assignments_.clear();
  for (const EndpointAssignment& assignment : assignments) {
    // Clusters that share an EDS service name have one entry each, with the same endpoints.
    Assignment& into = assignments_[assignment.cluster_name];
    into.reserve(assignment.endpoints.size());
    for (const AssignedEndpoint& endpoint : assignment.endpoints) {
      Assigned& assigned = into[endpoint.address];
      assigned.workload = endpoint.workload;
      assigned.mesh_cluster = endpoint.mesh_cluster;
      assigned.additional = endpoint.additional;
    }
  }
  dump_is_fresh_ = true;
}

bool BeliefBuilder::HostsChanged(const HostSets& sets) const {
  return std::any_of(sets.clusters.begin(), sets.clusters.end(), [&](const auto& cluster) {
    const auto known = clusters_.find(cluster.name);
    if (known == clusters_.end()) return true;
    return known->second.config.discovery == Discovery::kEds &&
           (!known->second.reported || known->second.hosts != HashOfHosts(cluster));
  });
}

BeliefSnapshot::Cluster BeliefBuilder::Join(const HostSets::Cluster& cluster, const Known& known) {
  BeliefSnapshot::Cluster out;
  out.name = cluster.name;
  out.service = known.config.service;
  out.discovery = known.config.discovery;
  out.layer = known.config.layer;
  out.updated = known.updated;
  out.endpoints.reserve(cluster.hosts.size());
  Assignment& assignment = assignments_[AssignmentName(cluster)];
  for (const HostSets::Host& host : cluster.hosts) {
    auto [it, missing] = assignment.try_emplace(host.address);
    Assigned& assigned = it->second;
    if (missing) assigned.listed = false;
    assigned.seen_in = builds_;
    Endpoint endpoint;
    endpoint.address = host.address;
    endpoint.in_assignment = assigned.listed && !host.pending_removal;
    endpoint.in_host_set = true;
    endpoint.pending_removal = host.pending_removal;
    endpoint.failed_outlier_check = host.failed_outlier_check;
    endpoint.failed_active_health_check = host.failed_active_health_check;
    endpoint.workload = assigned.workload;
    endpoint.connects = host.connects;
    endpoint.connect_failures = host.connect_failures;
    endpoint.mesh_cluster = assigned.mesh_cluster;
    // /clusters shows a host's first address and one count for all: the others have none of their
    // own. The tunnel's port is where the kernel sees the connection.
    Endpoint other = endpoint;
    other.connects = 0;
    other.connect_failures = 0;
    for (const SocketAddr& further : assigned.additional) {
      other.address = further;
      out.endpoints.push_back(other);
    }
    if (host.tunnelled) {
      other.address = SocketAddr{host.address.ip, kHbonePort};
      out.endpoints.push_back(other);
    }
    out.endpoints.push_back(std::move(endpoint));
  }
  SortAndMerge(out.endpoints);
  return out;
}

BeliefSnapshot BeliefBuilder::Build(const HostSets& sets, const UpdateTimes& times,
                                    const Bracket& bracket) {
  ++builds_;
  BeliefSnapshot snapshot;
  snapshot.proxy_id = proxy_;
  snapshot.requested = bracket.requested;
  snapshot.received = bracket.received;
  snapshot.complete = complete_next_;
  for (const HostSets::Cluster& cluster : sets.clusters) {
    auto [it, unknown] = clusters_.try_emplace(cluster.name);
    Known& known = it->second;
    if (unknown || !known.configured) {
      // It came after the dump was taken: its name is all that is known until the next one.
      known.config = ClusterConfig{};
      known.config.name = cluster.name;
      known.config.service = ServiceOfCluster(cluster.name);
      known.config.discovery = Discovery::kUnspecified;
      known.configured = true;
    }
    const uint64_t hosts = HashOfHosts(cluster);
    if (const auto time = times.find(cluster.name); time != times.end() && time->second.is_set() &&
                                                    time->second <= bracket.wall &&
                                                    (!known.reported || known.hosts != hosts)) {
      known.updated = time->second;
    }
    BeliefSnapshot::Cluster joined = Join(cluster, known);
    const uint64_t content = HashOfContent(joined);
    const bool changed = complete_next_ || !known.reported || known.content != content;
    known.reported = true;
    known.hosts = hosts;
    known.content = content;
    known.seen_in = builds_;
    if (changed) snapshot.clusters.push_back(std::move(joined));
  }
  DropUnseen(snapshot);
  std::sort(snapshot.clusters.begin(), snapshot.clusters.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  std::sort(snapshot.removed_clusters.begin(), snapshot.removed_clusters.end());
  complete_next_ = false;
  dump_is_fresh_ = false;
  return snapshot;
}

void BeliefBuilder::DropUnseen(BeliefSnapshot& snapshot) {
  views_differed_ = false;
  for (auto it = clusters_.begin(); it != clusters_.end();) {
    Known& known = it->second;
    if (known.seen_in == builds_) {
      ++it;
      continue;
    }
    if (known.reported && !complete_next_) snapshot.removed_clusters.push_back(it->first);
    clusters_.erase(it++);
  }
  // A host that has left and comes back is a new one: its metadata must be asked for again.
  for (auto it = assignments_.begin(); it != assignments_.end();) {
    const size_t before = it->second.size();
    absl::erase_if(it->second, [&](const auto& host) { return host.second.seen_in != builds_; });
    if (dump_is_fresh_ && it->second.size() != before) views_differed_ = true;
    if (it->second.empty()) {
      assignments_.erase(it++);
    } else {
      ++it;
    }
  }
}

void BeliefBuilder::Forget() { complete_next_ = true; }

}  // namespace phantomd
