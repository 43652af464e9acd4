#include "agent/belief/belief.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "agent/belief/address_index.h"
#include "agent/belief/let_go.h"
#include "agent/belief/name_pool.h"
#include "agent/belief/proxy_belief.h"

namespace phantomd {
namespace {

// Compaction walks everything that is remembered; once a minute is enough for a horizon of hours.
constexpr Nanos kCompactEvery = std::chrono::minutes(1);

}  // namespace

class Belief::Impl {
 public:
  ProxyBelief& FindOrAdd(const ProxyId& id) {
    const auto [at, added] = numbers_.try_emplace(id, static_cast<uint32_t>(proxies_.size()));
    if (added && !free_.empty()) {
      at->second = free_.back();
      free_.pop_back();
    } else if (added) {
      proxies_.emplace_back();
    }
    std::unique_ptr<ProxyBelief>& proxy = proxies_[at->second];
    if (added) proxy = std::make_unique<ProxyBelief>(id, at->second, names_, index_);
    return *proxy;
  }

  ProxyBelief* Find(const ProxyId& id) const {
    const auto found = numbers_.find(id);
    return found == numbers_.end() ? nullptr : proxies_[found->second].get();
  }

  void Compact(BootTime horizon) {
    if (horizon < compacted_ + kCompactEvery) return;
    compacted_ = horizon;
    for (std::unique_ptr<ProxyBelief>& proxy : proxies_) {
      if (!proxy) continue;
      proxy->Compact(horizon);
      if (!proxy->Forgotten(horizon)) continue;
      free_.push_back(proxy->number());
      numbers_.erase(proxy->id());
      proxy.reset();
    }
  }

  // Calls visit(proxy, cluster, endpoint) for all that is remembered of the IP.
  template <typename Visit>
  void ForEach(std::span<const AddressIndex::Place> places, const IpAddr& ip, Visit visit) const {
    for (const AddressIndex::Place& place : places) {
      const ProxyBelief& proxy = *proxies_[place.proxy];
      const ClusterHistory* cluster = proxy.Cluster(place.cluster);
      if (cluster == nullptr) continue;
      for (const EndpointHistory& endpoint : cluster->FindAll(ip)) visit(proxy, *cluster, endpoint);
    }
  }

  std::vector<const ProxyBelief*> Sorted() const {
    std::vector<const ProxyBelief*> sorted;
    for (const std::unique_ptr<ProxyBelief>& proxy : proxies_) {
      if (proxy) sorted.push_back(proxy.get());
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const ProxyBelief* a, const ProxyBelief* b) { return a->id() < b->id(); });
    return sorted;
  }

  NamePool names_;
  AddressIndex index_;
  WallOffset offset_;

 private:
  std::vector<std::unique_ptr<ProxyBelief>> proxies_;  // by number; null: free
  std::vector<uint32_t> free_;
  absl::flat_hash_map<ProxyId, uint32_t> numbers_;
  BootTime compacted_ = BootTime::Min();
};

namespace {

void Sort(std::vector<Believer>& believers) {
  std::sort(believers.begin(), believers.end(), [](const Believer& a, const Believer& b) {
    return std::tie(a.proxy, a.address, a.belief.cluster, a.belief.first_seen) <
           std::tie(b.proxy, b.address, b.belief.cluster, b.belief.first_seen);
  });
}

}  // namespace

Belief::Belief() : impl_(std::make_unique<Impl>()) {}
Belief::~Belief() = default;

std::vector<SocketAddr> Belief::Apply(const BeliefSnapshot& snapshot) {
  return impl_->FindOrAdd(snapshot.proxy_id).Apply(snapshot, impl_->offset_);
}

void Belief::Lost(const ProxyId& proxy, BootTime from, BootTime to) {
  if (ProxyBelief* found = impl_->Find(proxy)) found->Lost(from, to);
}

void Belief::Gone(const ProxyId& proxy, BootTime when) {
  if (ProxyBelief* found = impl_->Find(proxy)) found->Gone(when);
}

void Belief::SetWallOffset(WallOffset offset) { impl_->offset_ = offset; }

void Belief::Compact(BootTime horizon) { impl_->Compact(horizon); }

BeliefFacts Belief::At(const ProxyId& proxy, const SocketAddr& address, BootTime t) const {
  BeliefFacts facts;
  const ProxyBelief* found = impl_->Find(proxy);
  if (found == nullptr) return facts;
  facts.usable = found->usable(t);
  facts.answered_after = found->AnsweredAfter(t);
  facts.told_after = found->ToldAfter(t);
  if (address.port == 0) return facts;
  for (const AddressIndex::Place& place : impl_->index_.Of(address.ip, found->number())) {
    const ClusterHistory* cluster = found->Cluster(place.cluster);
    const EndpointHistory* endpoint = cluster == nullptr ? nullptr : cluster->Find(address);
    if (endpoint == nullptr) continue;
    const auto around = endpoint->At(t, found->Confirmed(*cluster));
    if (!around) continue;
    ClusterBelief& belief = facts.clusters.emplace_back(
        found->BeliefOf(*cluster, *endpoint, around->stay, around->hold));
    belief.received_before = around->stay.begin.first < t;
    belief.left_before = around->left_before;
    belief.connects_around = found->ConnectsAround(*endpoint, around->stay, t);
  }
  std::sort(facts.clusters.begin(), facts.clusters.end(),
            [](const ClusterBelief& a, const ClusterBelief& b) { return a.cluster < b.cluster; });
  return facts;
}

bool Belief::HasOriginalDst(const ProxyId& proxy) const {
  const ProxyBelief* found = impl_->Find(proxy);
  if (found == nullptr) return false;
  const auto& clusters = found->clusters();
  return std::any_of(clusters.begin(), clusters.end(), [](const auto& entry) {
    return entry.second.exists() && entry.second.discovery() == Discovery::kOriginalDst;
  });
}

Layer Belief::OriginalDstLayer(const ProxyId& proxy) const {
  const ProxyBelief* found = impl_->Find(proxy);
  if (found == nullptr) return Layer::kUnspecified;
  std::optional<Layer> layer;
  for (const auto& [name, cluster] : found->clusters()) {
    if (!cluster.exists() || cluster.discovery() != Discovery::kOriginalDst) continue;
    if (layer && *layer != cluster.layer()) return Layer::kUnspecified;
    layer = cluster.layer();
  }
  return layer.value_or(Layer::kUnspecified);
}

std::vector<Believer> Belief::BelieversOf(const IpAddr& ip) const {
  std::vector<Believer> believers;
  impl_->ForEach(impl_->index_.Of(ip), ip,
                 [&](const ProxyBelief& proxy, const ClusterHistory& cluster,
                     const EndpointHistory& endpoint) {
                   if (!endpoint.listed()) return;
                   const auto stays = endpoint.Stays(proxy.Confirmed(cluster));
                   Believer& believer = believers.emplace_back(Believer{
                       proxy.id(), endpoint.address(),
                       proxy.BeliefOf(cluster, endpoint, stays.back(), endpoint.listing().hold)});
                   believer.belief.received_before = true;
                 });
  Sort(believers);
  return believers;
}

bool Belief::BelievesNow(const ProxyId& proxy, const IpAddr& ip) const {
  const ProxyBelief* found = impl_->Find(proxy);
  if (found == nullptr) return false;
  bool believes = false;
  impl_->ForEach(impl_->index_.Of(ip, found->number()), ip,
                 [&](const ProxyBelief&, const ClusterHistory&, const EndpointHistory& endpoint) {
                   believes |= endpoint.listed();
                 });
  return believes;
}

std::vector<Believer> Belief::HistoryOf(const IpAddr& ip) const {
  std::vector<Believer> history;
  impl_->ForEach(
      impl_->index_.Of(ip), ip,
      [&](const ProxyBelief& proxy, const ClusterHistory& cluster,
          const EndpointHistory& endpoint) {
        for (const EndpointHistory::Stay& stay : endpoint.Stays(proxy.Confirmed(cluster))) {
          const Hold hold =
              stay.gone_at != BootTime::Max() ? Hold::kDropped : endpoint.listing().hold;
          Believer& believer = history.emplace_back(Believer{
              proxy.id(), endpoint.address(), proxy.BeliefOf(cluster, endpoint, stay, hold)});
          believer.belief.received_before = true;
        }
      });
  Sort(history);
  return history;
}

TimeBounds Belief::LetGo(const ProxyId& proxy, const IpAddr& ip, BootTime from,
                         BootTime until) const {
  const ProxyBelief* found = impl_->Find(proxy);
  std::vector<EndpointHistory::Stay> stays;
  if (found != nullptr) {
    impl_->ForEach(
        impl_->index_.Of(ip, found->number()), ip,
        [&](const ProxyBelief& p, const ClusterHistory& cluster, const EndpointHistory& endpoint) {
          for (EndpointHistory::Stay& stay : endpoint.Stays(p.Confirmed(cluster))) {
            stays.push_back(std::move(stay));
          }
        });
  }
  return EndOfBelief(std::move(stays), from, until);
}

Belief::ProxyFacts Belief::Facts(const ProxyId& proxy) const {
  const ProxyBelief* found = impl_->Find(proxy);
  return found == nullptr ? ProxyFacts{} : found->Facts();
}

void Belief::Export(const std::function<void(BeliefSnapshot)>& sink) const {
  Export(ExportSinks{sink, {}, {}});
}

void Belief::Export(const ExportSinks& sinks) const {
  struct Item {
    const ProxyBelief* proxy;
    ProxyBelief::Telling telling;
  };
  std::vector<Item> items;
  for (const ProxyBelief* proxy : impl_->Sorted()) {
    for (ProxyBelief::Telling& telling : proxy->Tellings()) {
      items.push_back({proxy, std::move(telling)});
    }
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.telling.at < b.telling.at; });
  for (const Item& item : items) {
    using What = ProxyBelief::Telling::What;
    const ProxyBelief::Telling& telling = item.telling;
    switch (telling.what) {
      case What::kSnapshot:
        sinks.snapshot(item.proxy->SnapshotOf(telling, impl_->offset_));
        break;
      case What::kLost:
        if (sinks.lost) {
          sinks.lost(item.proxy->id(), telling.at, telling.lost.not_before, telling.lost.not_after);
        }
        break;
      case What::kGone:
        if (sinks.gone) {
          sinks.gone(item.proxy->id(), telling.at);
        } else {
          BeliefSnapshot nothing;
          nothing.proxy_id = item.proxy->id();
          nothing.requested = nothing.received = telling.at;
          nothing.complete = true;
          sinks.snapshot(std::move(nothing));
        }
        break;
    }
  }
}

}  // namespace phantomd
