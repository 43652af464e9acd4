#include "agent/belief/cluster_history.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/hash/hash.h"

namespace phantomd {
namespace {

// One endpoint as a snapshot tells it: the same ip:port may be told in several priorities.
struct ToldEndpoint {
  SocketAddr address;
  EndpointHistory::Listing listing;
};

std::vector<ToldEndpoint> Sorted(std::span<const BeliefSnapshot::Cluster* const> clusters,
                                 NamePool& names) {
  std::vector<ToldEndpoint> told;
  for (const BeliefSnapshot::Cluster* cluster : clusters) {
    for (const BeliefSnapshot::Endpoint& e : cluster->endpoints) {
      if (!e.in_assignment && !e.in_host_set && !e.pending_removal) continue;
      told.push_back({e.address,
                      {e.in_assignment && !e.pending_removal ? Hold::kAssigned : Hold::kHostSet,
                       e.failed_outlier_check, e.failed_active_health_check,
                       names.Intern(e.workload), names.Intern(e.mesh_cluster), e.connects}});
    }
  }
  const auto by_address = [](const ToldEndpoint& a, const ToldEndpoint& b) {
    return a.address < b.address;
  };
  if (!std::is_sorted(told.begin(), told.end(), by_address)) {
    std::stable_sort(told.begin(), told.end(), by_address);
  }
  // Of several, assigned is the stronger claim; each host counts its own connects.
  size_t out = 0;
  for (size_t i = 0; i < told.size(); ++i) {
    if (out > 0 && told[out - 1].address == told[i].address) {
      EndpointHistory::Listing& kept = told[out - 1].listing;
      const EndpointHistory::Listing& more = told[i].listing;
      if (more.hold == Hold::kAssigned) kept.hold = Hold::kAssigned;
      kept.failed_outlier_check |= more.failed_outlier_check;
      kept.failed_active_health_check |= more.failed_active_health_check;
      if (kept.workload == 0) kept.workload = more.workload;
      if (kept.mesh_cluster == 0) kept.mesh_cluster = more.mesh_cluster;
      kept.connects += more.connects;
    } else {
      told[out++] = told[i];
    }
  }
  told.resize(out);
  return told;
}

// Up to so many endpoints their digests are scanned: that takes less than the steps of a search.
constexpr size_t kScanned = 512;

uint32_t DigestOf(const SocketAddr& address) {
  return static_cast<uint32_t>(absl::HashOf(address));
}

bool AddressLess(const EndpointHistory& a, const SocketAddr& b) { return a.address() < b; }

}  // namespace

const EndpointHistory* ClusterHistory::Find(const SocketAddr& address) const {
  if (endpoints_.size() <= kScanned) {
    const uint32_t digest = DigestOf(address);
    for (size_t i = 0; i < digests_.size(); ++i) {
      if (digests_[i] == digest && endpoints_[i].address() == address) return &endpoints_[i];
    }
    return nullptr;
  }
  const auto at = std::lower_bound(endpoints_.begin(), endpoints_.end(), address, AddressLess);
  return at != endpoints_.end() && at->address() == address ? &*at : nullptr;
}

std::span<const EndpointHistory> ClusterHistory::FindAll(const IpAddr& ip) const {
  const auto first =
      std::lower_bound(endpoints_.begin(), endpoints_.end(), SocketAddr{ip, 0}, AddressLess);
  auto last = first;
  while (last != endpoints_.end() && last->address().ip == ip) ++last;
  return {first, last};
}

void ClusterHistory::Describe(const BeliefSnapshot::Cluster& told, NamePool& names) {
  // A poll whose configuration dump lacked the cluster says nothing about these.
  if (!told.service.empty()) service_ = names.Intern(told.service);
  if (told.discovery != Discovery::kUnspecified) discovery_ = told.discovery;
  if (told.layer != Layer::kUnspecified) layer_ = told.layer;
}

bool ClusterHistory::List(std::span<const BeliefSnapshot::Cluster* const> told,
                          EndpointHistory::Change change, WallOffset offset, NamePool& names,
                          const AddressVisitor& appeared) {
  for (const BeliefSnapshot::Cluster* cluster : told) {
    Describe(*cluster, names);
    if (cluster->updated.is_set())
      change.dated = offset.ToBoot(cluster->updated) + EndpointHistory::kUpdateTimeGrain;
  }
  removed_ = BootTime();
  listed_ = change.poll;

  const std::vector<ToldEndpoint> listing = Sorted(told, names);
  endpoint_count_ = listing.size();
  std::vector<EndpointHistory> added;
  size_t known = 0;
  bool changed = false;
  for (const ToldEndpoint& endpoint : listing) {
    while (known < endpoints_.size() && endpoints_[known].address() < endpoint.address) {
      changed |= endpoints_[known++].Unlist(change);
    }
    if (known < endpoints_.size() && endpoints_[known].address() == endpoint.address) {
      if (!endpoints_[known].listed()) appeared(endpoint.address);
      changed |= endpoints_[known++].List(endpoint.listing, change);
    } else {
      added.emplace_back(endpoint.address).List(endpoint.listing, change);
    }
  }
  while (known < endpoints_.size()) changed |= endpoints_[known++].Unlist(change);
  if (added.empty()) return changed;

  for (const EndpointHistory& endpoint : added) appeared(endpoint.address());
  std::vector<EndpointHistory> merged;
  merged.reserve(endpoints_.size() + added.size());
  std::merge(std::make_move_iterator(endpoints_.begin()), std::make_move_iterator(endpoints_.end()),
             std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()),
             std::back_inserter(merged), [](const EndpointHistory& a, const EndpointHistory& b) {
               return a.address() < b.address();
             });
  endpoints_ = std::move(merged);
  Digest();
  return true;
}

bool ClusterHistory::Remove(const EndpointHistory::Change& change) {
  listed_ = change.poll;
  if (!exists()) return false;
  for (EndpointHistory& endpoint : endpoints_) endpoint.Unlist(change);
  endpoint_count_ = 0;
  removed_ = change.poll.received;
  return true;
}

void ClusterHistory::Compact(BootTime before, const IpVisitor& vanished) {
  std::erase_if(unchained_, [&](BootTime told) { return told < before; });
  size_t out = 0;
  for (size_t i = 0; i < endpoints_.size();) {
    const IpAddr ip = endpoints_[i].address().ip;
    bool remembered = false;
    for (; i < endpoints_.size() && endpoints_[i].address().ip == ip; ++i) {
      endpoints_[i].Compact(before);
      if (!endpoints_[i].ever()) continue;
      remembered = true;
      if (out != i) endpoints_[out] = std::move(endpoints_[i]);
      ++out;
    }
    if (!remembered) vanished(ip);
  }
  if (out == endpoints_.size()) return;
  endpoints_.erase(endpoints_.begin() + static_cast<std::ptrdiff_t>(out), endpoints_.end());
  Digest();
}

void ClusterHistory::Digest() {
  digests_.clear();
  if (endpoints_.size() > kScanned) return;
  digests_.reserve(endpoints_.size());
  for (const EndpointHistory& endpoint : endpoints_) {
    digests_.push_back(DigestOf(endpoint.address()));
  }
}

std::vector<BootTime> ClusterHistory::Told() const {
  std::vector<BootTime> told = unchained_;
  told.push_back(listed_.received);
  for (const EndpointHistory& endpoint : endpoints_) {
    if (endpoint.ended() != nullptr) {
      for (const EndpointHistory::Ended& ended : *endpoint.ended()) {
        told.push_back(ended.stretch.first);
        told.push_back(ended.last.received);
        told.push_back(ended.gone_poll);
      }
    }
    if (endpoint.listed()) told.push_back(endpoint.current().first);
    for (BootTime changed : endpoint.ConnectChanges()) told.push_back(changed);
  }
  std::sort(told.begin(), told.end());
  told.erase(std::unique(told.begin(), told.end()), told.end());
  return told;
}

BeliefSnapshot::Cluster ClusterHistory::AsToldAt(BootTime received, WallOffset offset,
                                                 const NamePool& names) const {
  BeliefSnapshot::Cluster cluster;
  cluster.name = names.View(name_);
  cluster.service = names.View(service_);
  cluster.discovery = discovery_;
  cluster.layer = layer_;
  // All changes of one poll have one date; where it was moved behind an earlier change, it is
  // later.
  BootTime dated = received;
  const auto date = [&](BootTime poll, BootTime at) {
    if (poll == received) dated = std::min(dated, at);
  };
  for (const EndpointHistory& endpoint : endpoints_) {
    if (endpoint.ended() != nullptr) {
      for (const EndpointHistory::Ended& ended : *endpoint.ended()) {
        date(ended.gone_poll, ended.gone_at);
        date(ended.stretch.first, ended.stretch.first_at);
      }
    }
    if (endpoint.listed()) date(endpoint.current().first, endpoint.current().first_at);
    const std::optional<Hold> hold = endpoint.HoldAt(received);
    if (!hold) continue;
    BeliefSnapshot::Endpoint told;
    told.address = endpoint.address();
    told.in_assignment = *hold == Hold::kAssigned;
    told.in_host_set = true;
    told.pending_removal = *hold == Hold::kHostSet;
    told.failed_outlier_check = endpoint.listing().failed_outlier_check;
    told.failed_active_health_check = endpoint.listing().failed_active_health_check;
    told.workload = names.View(endpoint.listing().workload);
    told.mesh_cluster = names.View(endpoint.listing().mesh_cluster);
    told.connects = static_cast<uint64_t>(std::max<int64_t>(0, endpoint.ConnectsAt(received)));
    cluster.endpoints.push_back(std::move(told));
  }
  if (dated < received) cluster.updated = offset.ToWall(dated - EndpointHistory::kUpdateTimeGrain);
  return cluster;
}

}  // namespace phantomd
