#include "agent/engine/proxy_table.h"

#include <algorithm>

#include "fmt/format.h"

namespace phantomd {
namespace {

// /proc and the kernel's record may round a process's start differently by one USER_HZ tick.
constexpr Nanos kTick = std::chrono::milliseconds(10);

template <typename T>
void FillIn(T& known, const T& told) {
  if (told != T()) known = told;
}

void Merge(Proxy& known, const Proxy& told) {
  known.id = told.id;
  FillIn(known.name, told.name);
  FillIn(known.role, told.role);
  FillIn(known.pod.uid, told.pod.uid);
  FillIn(known.pod.ns, told.pod.ns);
  FillIn(known.pod.name, told.pod.name);
  FillIn(known.pod.workload, told.pod.workload);
  FillIn(known.pod.revision, told.pod.revision);
  FillIn(known.pod.node_name, told.pod.node_name);
  FillIn(known.envoy_node_id, told.envoy_node_id);
  FillIn(known.envoy_version, told.envoy_version);
  FillIn(known.netns_cookie, told.netns_cookie);
  FillIn(known.process_ids, told.process_ids);
  FillIn(known.admin_address, told.admin_address);
  FillIn(known.cgroup_id, told.cgroup_id);
  FillIn(known.process_start, told.process_start);
}

bool OwnsProcess(const Proxy& proxy, const Attempt& attempt) {
  if (std::find(proxy.process_ids.begin(), proxy.process_ids.end(), attempt.process_id) ==
      proxy.process_ids.end()) {
    return false;
  }
  // `process_start` is of the oldest of its processes; a younger one may follow (hot restart), but
  // an older process with this pid is another program.
  if (!proxy.process_start.is_set() || !attempt.process_start.is_set()) return true;
  return attempt.process_start + kTick >= proxy.process_start;
}

void AddOnce(std::vector<ProxyId>& ids, const ProxyId& id) {
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

template <typename Map, typename Key>
void Drop(Map& map, const Key& key, const ProxyId& id) {
  const auto it = map.find(key);
  if (it == map.end()) return;
  std::erase(it->second, id);
  if (it->second.empty()) map.erase(it);
}

}  // namespace

bool ProxyTable::Apply(const ProxyChange& change, BootTime observed, const Lifecycle& lifecycle) {
  Entry& entry = entries_[change.proxy.id];
  if (!entry.first_observed.is_set()) entry.first_observed = observed;
  const uint64_t old_netns = entry.told.netns_cookie;
  Merge(entry.told, change.proxy);
  if (old_netns != 0 && old_netns != entry.told.netns_cookie) {
    Drop(by_netns_, old_netns, change.proxy.id);
  }
  if (entry.told.netns_cookie != 0) AddOnce(by_netns_[entry.told.netns_cookie], change.proxy.id);
  if (!entry.told.pod.uid.empty()) AddOnce(by_pod_[entry.told.pod.uid], change.proxy.id);
  const bool returned = entry.gone.is_set() && !change.gone && !change.proxy.process_ids.empty();
  if (returned) {
    entry.gone = BootTime();
    entry.returned = observed;
  } else if (change.gone && !entry.gone.is_set()) {
    entry.gone = observed;
  }
  Name(entry, lifecycle);
  return returned;
}

void ProxyTable::PodTold(const PodUid& uid, const Lifecycle& lifecycle) {
  const auto it = by_pod_.find(uid);
  if (it == by_pod_.end()) return;
  for (const ProxyId& id : it->second) Name(entries_[id], lifecycle);
}

void ProxyTable::Name(Entry& entry, const Lifecycle& lifecycle) {
  const PodRef* pod =
      entry.told.pod.uid.empty() ? nullptr : lifecycle.Pod(lifecycle.FindPod(entry.told.pod.uid));
  // A pod that the lifecycle has forgotten keeps the name it had.
  const PodRef known = pod != nullptr ? *pod : entry.named.pod;
  entry.named = entry.told;
  if (known.uid != entry.told.pod.uid || known.uid.empty() || known.name.empty()) return;
  entry.named.pod = known;
  entry.named.name = fmt::format("{}/{}", known.ns, known.name);
}

void ProxyTable::Restore(const PodOfProxy& named, const Lifecycle& lifecycle) {
  const auto it = entries_.find(named.proxy);
  if (it == entries_.end()) return;
  it->second.named.pod = named.pod;
  Name(it->second, lifecycle);
}

void ProxyTable::Compact(BootTime horizon) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    const Entry& entry = it->second;
    if (!entry.gone.is_set() || entry.gone >= horizon) {
      ++it;
      continue;
    }
    Drop(by_netns_, entry.told.netns_cookie, it->first);
    Drop(by_pod_, entry.told.pod.uid, it->first);
    it = entries_.erase(it);
  }
}

const Proxy* ProxyTable::Resolve(const Attempt& attempt, bool& own_process) const {
  own_process = false;
  if (!attempt.proxy_id.empty()) {
    const Entry* entry = Find(attempt.proxy_id);
    if (entry == nullptr) return nullptr;
    own_process = OwnsProcess(entry->told, attempt);
    return &entry->named;
  }
  const auto it = by_netns_.find(attempt.netns_cookie);
  if (attempt.netns_cookie == 0 || it == by_netns_.end()) return nullptr;
  // The application of a pod belongs to the proxy beside it: the youngest that ran at the SYN.
  const Entry* beside = nullptr;
  for (const ProxyId& id : it->second) {
    const Entry& entry = entries_.at(id);
    if (OwnsProcess(entry.told, attempt)) {
      own_process = true;
      return &entry.named;
    }
    if (entry.gone.is_set() && entry.gone < attempt.started) continue;
    if (beside == nullptr || entry.first_observed > beside->first_observed) beside = &entry;
  }
  return beside != nullptr ? &beside->named : nullptr;
}

ProxyTable::Origin ProxyTable::OriginOf(const Attempt& attempt) const {
  Origin origin{.initiator = attempt.initiator};
  bool own_process = false;
  origin.proxy = Resolve(attempt, own_process);
  // The probe takes a proxy's process for an application's if an agent before it was the last to
  // see it alive.
  if (origin.initiator == Initiator::kUnspecified ||
      (origin.initiator == Initiator::kApplication && own_process)) {
    if (!own_process) {
      origin.initiator = Initiator::kApplication;
    } else {
      // Envoy's main thread makes health checks, xDS and DNS connections; workers go upstream.
      origin.initiator =
          attempt.thread_id == attempt.process_id ? Initiator::kProxyControl : Initiator::kProxy;
    }
  }
  return origin;
}

const ProxyTable::Entry* ProxyTable::Find(const ProxyId& id) const {
  const auto it = entries_.find(id);
  return it == entries_.end() ? nullptr : &it->second;
}

std::vector<ProxyId> ProxyTable::Ids() const {
  std::vector<ProxyId> ids;
  ids.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) ids.push_back(id);
  return ids;
}

}  // namespace phantomd
