#include "tests/world/cluster.h"

#include <algorithm>

#include "agent/base/check.h"
#include "fmt/format.h"

namespace phantomd::world {
namespace {

constexpr double kSkewMost = 0.45;  // of clocks, within clock_error of 500 ms

}  // namespace

Cluster::Cluster(const Scenario& scenario, Agenda& agenda, Random random)
    : scenario_(scenario), agenda_(agenda), random_(std::move(random)) {
  api_skew_ = Span(random_.Uniform(-kSkewMost, kSkewMost));
  free_.resize(scenario.shared_pool ? 1 : scenario.nodes);
  for (uint32_t i = 0; i < scenario.nodes; ++i) {
    Node& node = nodes_.emplace_back();
    node.name = fmt::format("node-{}", i + 1);
    node.address = IpAddr::V4(192, 168, 0, static_cast<uint8_t>(i + 1));
    if (!scenario.shared_pool) node.pod_cidr = fmt::format("10.0.{}.0/24", i + 1);
    // The own node's clock is the axis itself.
    if (i > 0) node.skew = Span(random_.Uniform(-kSkewMost, kSkewMost));
    node.rejects_dead = random_.Chance(scenario.nodes_rejecting);
    for (uint32_t n = 0; n < scenario.addresses_per_node; ++n) {
      const auto low = static_cast<uint8_t>(n + 2);
      const auto third = static_cast<uint8_t>(i + 1);
      free_[scenario.shared_pool ? 0 : i].push_back(
          IpAddr::V4(10, scenario.shared_pool ? 1 : 0, third, low));
    }
  }
  for (std::deque<IpAddr>& pool : free_) random_.Shuffle(pool);
}

const Pod* Cluster::HolderOf(const IpAddr& ip) const {
  const auto it = occupants_.find(ip);
  return it != occupants_.end() && it->second->holds_address ? it->second : nullptr;
}

Answer Cluster::AnswerOf(const SocketAddr& address) const {
  const auto it = occupants_.find(address.ip);
  if (it == occupants_.end()) {
    for (const Node& node : nodes_) {
      if (node.address == address.ip) return node.up ? Answer::kRefuses : Answer::kSilence;
      const bool routes =
          !node.pod_cidr.empty() && IpPrefix::Parse(node.pod_cidr)->Contains(address.ip);
      if (routes && node.up && node.rejects_dead) return Answer::kUnreachable;
    }
    // Outside the cluster somebody is always at home.
    return IsPodAddress(address.ip) ? Answer::kSilence : Answer::kAccepts;
  }
  const Pod& pod = *it->second;
  if (!nodes_[pod.node].up) return Answer::kSilence;
  return pod.listening && address.port == kPort ? Answer::kAccepts : Answer::kRefuses;
}

bool Cluster::IsPodAddress(const IpAddr& ip) const {
  return ip.is_v4() && ip.bytes()[12] == 10 && ip.bytes()[13] <= 1;
}

NodeChange Cluster::StoredNode(const Node& node) const {
  NodeChange change;
  change.name = node.name;
  change.ready = node.stored_ready;
  change.deleted = node.stored_deleted;
  change.last_heartbeat = ApiTime(node.lease_renewed, node.skew);
  change.addresses = {node.address};
  if (!node.pod_cidr.empty()) change.pod_cidrs = {node.pod_cidr};
  return change;
}

Workload& Cluster::AddWorkload(WorkloadRef ref, Manners manners, uint32_t replicas) {
  Workload& workload = workloads_.emplace_back();
  workload.ref = std::move(ref);
  workload.manners = manners;
  workload.replicas = replicas;
  workload.revision = fmt::format("{}-r1", workload.ref.name);
  workload.revisions = 1;
  return workload;
}

Service& Cluster::AddService(const std::string& name, const Workload& selects) {
  Service& service = services_.emplace_back();
  service.ns = selects.ref.ns;
  service.name = name;
  service.selects = &selects;
  service.slice_size = scenario_.slice_size;
  service.has_slices = scenario_.has_slices;
  return service;
}

Pod& Cluster::CreatePod(Workload& workload, const WorkloadRef& owner, const std::string& name,
                        uint32_t node) {
  Pod& pod = pods_.emplace_back();
  pod.ref = {.uid = PodUid(fmt::format("uid-{}", ++pods_made_)),
             .ns = owner.ns,
             .name = name,
             .workload = owner,
             .revision = workload.revision,
             .node_name = nodes_[node].name};
  pod.workload = &workload;
  pod.node = node;
  pod.exists = true;
  pod.stored.pod = pod.ref;
  pod.stored.phase = PodPhase::kPending;
  pod.stored.created = ApiTime(agenda_.now(), api_skew_);
  Store(pod);
  agenda_.In(random_.Delay(0.5, 0.5, 3), [this, &pod] { MakeSandbox(pod); });
  return pod;
}

// --- Addresses ---

bool Cluster::Allocate(Pod& pod) {
  std::deque<IpAddr>& pool = free_[scenario_.shared_pool ? 0 : pod.node];
  if (pool.empty()) return false;
  pod.ip = pool.front();
  pool.pop_front();
  PHANTOMD_CHECK(!occupants_.contains(pod.ip));
  occupants_[pod.ip] = &pod;
  return true;
}

void Cluster::Free(uint32_t node, const IpAddr& ip) {
  occupants_.erase(ip);
  std::deque<IpAddr>& pool = free_[scenario_.shared_pool ? 0 : node];
  agenda_.In(Span(scenario_.cooldown), [&pool, ip, this] {
    // Some allocators take the oldest free address first, some the one freed last.
    if (scenario_.reuses_last_freed) {
      pool.push_front(ip);
    } else {
      pool.push_back(ip);
    }
  });
}

// --- The API server ---

void Cluster::Store(Pod& pod) {
  for (Watcher* watcher : watchers_) watcher->Stored(pod.stored);
  PlanSync(pod);
}

void Cluster::StoreDeleted(Pod& pod) {
  if (!pod.exists) return;
  pod.exists = false;
  pod.stored.deleted = true;
  Store(pod);
}

void Cluster::SetStoredReady(Pod& pod, bool ready) {
  pod.stored.ready = ready;
  Store(pod);
}

void Cluster::StoreNode(Node& node, bool ready, bool deleted) {
  node.stored_ready = ready;
  node.stored_deleted = deleted;
  NodeChange change = StoredNode(node);
  for (Watcher* watcher : watchers_) watcher->Stored(change);
}

void Cluster::RequestDeletion(Pod& pod, const Change* change, double grace) {
  if (!pod.exists || pod.deletion_requested.is_set()) return;
  pod.deletion_requested = agenda_.now();
  pod.node_was_lost = !nodes_[pod.node].stored_ready;
  pod.stored.deletion_requested = ApiTime(agenda_.now(), api_skew_);
  if (pod.departs_with == nullptr) pod.departs_with = change;
  if (!pod.acquired.is_set() && !pod.has_netns) {  // no kubelet has begun with it
    StoreDeleted(pod);
    return;
  }
  const bool was_dead = pod.died.is_set();
  // Between two runs of its containers no other one will be started now.
  if (!pod.running && pod.finished.is_set()) Die(pod);
  RefreshService(pod);
  Store(pod);
  if (was_dead) {  // there is nothing to be ended
    agenda_.In(Span(1) + random_.Delay(0.2, 0.6, 1), [this, &pod] {
      if (KubeletRuns(pod)) StoreDeleted(pod);
    });
    return;
  }
  agenda_.In(random_.Delay(0.06, 0.6, 0.5), [this, &pod, grace] { Stop(pod, grace); });
}

void Cluster::SetDeparture(const Pod& pod, const Change* change) {
  Pod& own = *std::find_if(pods_.begin(), pods_.end(), [&](const Pod& p) { return &p == &pod; });
  if (own.departs_with == nullptr) own.departs_with = change;
}

void Cluster::ForceDelete(Pod& pod, const Change* change, Nanos notices_after) {
  if (!pod.exists) return;
  if (pod.departs_with == nullptr) pod.departs_with = change;
  if (!pod.deletion_requested.is_set()) {
    pod.deletion_requested = agenda_.now();
    pod.stored.deletion_requested = ApiTime(agenda_.now(), api_skew_);
  }
  RefreshService(pod);
  StoreDeleted(pod);
  agenda_.In(notices_after, [this, &pod] { Stop(pod, 2); });
}

// --- Slices ---

void Cluster::PlanSync(const Pod& pod) {
  for (Service& service : services_) {
    if (service.selects == pod.workload) PlanSync(service);
  }
}

void Cluster::PlanSync(Service& service) {
  if (!service.has_slices || service.sync_planned) return;
  service.sync_planned = true;
  agenda_.In(random_.Delay(0.05, 0.7, 0.6), [this, &service] { Sync(service); });
}

void Cluster::Sync(Service& service) {
  service.sync_planned = false;
  const auto find = [&](const PodUid& uid) -> std::pair<SliceChange*, SliceChange::Endpoint*> {
    for (SliceChange& slice : service.slices) {
      for (SliceChange::Endpoint& endpoint : slice.endpoints) {
        if (endpoint.pod_uid == uid) return {&slice, &endpoint};
      }
    }
    return {nullptr, nullptr};
  };
  std::vector<SliceChange> before = service.slices;
  std::vector<Pod*> touched;
  for (Pod& pod : pods_) {
    if (pod.workload != service.selects || pod.moving) continue;
    const auto [slice, endpoint] = find(pod.ref.uid);
    const bool listed = pod.exists && !pod.stored.ips.empty() && !pod.terminal();
    if (!listed) {
      if (slice == nullptr) continue;
      std::erase_if(slice->endpoints,
                    [&](const auto& other) { return other.pod_uid == pod.ref.uid; });
      pod.listed.erase(&service);
      touched.push_back(&pod);
      continue;
    }
    const bool terminating = pod.deletion_requested.is_set();
    const SliceChange::Endpoint wanted{.addresses = pod.stored.ips,
                                       .ready = pod.stored.ready && !terminating,
                                       .serving = pod.stored.ready,
                                       .terminating = terminating,
                                       .pod_uid = pod.ref.uid};
    pod.listed[&service] = wanted.ready;
    touched.push_back(&pod);
    if (endpoint != nullptr) {
      *endpoint = wanted;
      continue;
    }
    SliceChange* into = nullptr;
    for (SliceChange& other : service.slices) {
      if (other.endpoints.size() < service.slice_size) into = &other;
    }
    if (into == nullptr) {
      into = &service.slices.emplace_back();
      into->ns = service.ns;
      into->name = fmt::format("{}-{}", service.name, service.slices.size());
      into->service = service.name;
      into->ports = {{"tcp", kPort}};
    }
    into->endpoints.push_back(wanted);
  }
  for (size_t i = 0; i < service.slices.size(); ++i) {
    if (i >= before.size() || !(before[i] == service.slices[i])) StoreSlice(service.slices[i]);
  }
  for (Pod* pod : touched) RefreshService(*pod);
}

void Cluster::StoreSlice(const SliceChange& slice) {
  for (Watcher* watcher : watchers_) watcher->Stored(slice);
}

void Cluster::RefreshService(Pod& pod) {
  const bool ready = std::any_of(pod.listed.begin(), pod.listed.end(),
                                 [](const auto& listing) { return listing.second; });
  pod.was_in_service = pod.was_in_service || ready;
  const bool withdrawn =
      pod.was_in_service && (pod.deletion_requested.is_set() || (!ready && !pod.moving));
  if (withdrawn == pod.withdrawn) return;
  pod.withdrawn = withdrawn;
  pod.withdrawn_at = withdrawn ? agenda_.now() : BootTime();
  if (!withdrawn) return;
  for (Watcher* watcher : watchers_) watcher->Withdrawn(pod);
}

void Cluster::MoveBetweenSlices(Service& service, Pod& pod, Nanos gap) {
  if (pod.moving || pod.withdrawn || !pod.exists) return;
  for (SliceChange& from : service.slices) {
    const auto at = std::find_if(from.endpoints.begin(), from.endpoints.end(), [&](const auto& e) {
      return e.pod_uid == pod.ref.uid && e.ready;
    });
    if (at == from.endpoints.end()) continue;
    const SliceChange::Endpoint endpoint = *at;
    from.endpoints.erase(at);
    pod.moving = true;
    pod.listed.erase(&service);
    StoreSlice(from);
    const std::string origin = from.name;
    agenda_.In(gap, [this, &service, &pod, endpoint, origin] {
      pod.moving = false;
      if (pod.withdrawn || pod.deletion_requested.is_set()) {
        PlanSync(service);
        return;
      }
      SliceChange* to = nullptr;
      for (SliceChange& slice : service.slices) {
        if (slice.name != origin) to = &slice;
      }
      if (to == nullptr) {
        SliceChange made = service.slices.front();
        made.endpoints.clear();
        made.name = fmt::format("{}-{}", service.name, service.slices.size() + 1);
        to = &service.slices.emplace_back(std::move(made));
      }
      to->endpoints.push_back(endpoint);
      pod.listed[&service] = endpoint.ready;
      StoreSlice(*to);
      RefreshService(pod);
    });
    return;
  }
}

}  // namespace phantomd::world
