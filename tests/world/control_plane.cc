#include "tests/world/control_plane.h"

#include <algorithm>

namespace phantomd::world {
namespace {

// Istio's defaults: a push goes out once it was quiet for 100 ms, after 10 s at the latest.
constexpr Nanos kDebounceAfter = std::chrono::milliseconds(100);
constexpr Nanos kDebounceMost = std::chrono::seconds(10);
constexpr double kDnsRefresh = 5;

}  // namespace

ControlPlane::ControlPlane(const Scenario& scenario, Agenda& agenda, Cluster& cluster,
                           Random random)
    : scenario_(scenario), agenda_(agenda), cluster_(cluster), random_(std::move(random)) {
  cluster_.Watch(this);
}

Assignment ControlPlane::ReadyOf(const Service& service) const {
  Assignment out;
  for (const SliceChange& slice : service.slices) {
    for (const SliceChange::Endpoint& endpoint : slice.endpoints) {
      if (!endpoint.ready) continue;
      for (const Pod& pod : cluster_.pods()) {
        if (pod.ref.uid != endpoint.pod_uid) continue;
        out.push_back({{endpoint.addresses[0], kPort}, &pod});
      }
    }
  }
  return out;
}

void ControlPlane::Connect(SimulatedProxy& proxy, BootTime end) {
  proxies_.push_back(&proxy);
  for (size_t i = 0; i < proxy.clusters().size(); ++i) {
    const SimulatedProxy::ClusterState& cluster = proxy.clusters()[i];
    if (cluster.service == nullptr) continue;
    if (cluster.discovery == Discovery::kEds) {
      proxy.Assign(i, ReadyOf(*cluster.service));
    } else if (cluster.discovery == Discovery::kStrictDns) {
      Refresh(proxy, i, end);
    }
  }
}

void ControlPlane::Refresh(SimulatedProxy& proxy, size_t cluster, BootTime end) {
  if (!proxy.alive || agenda_.now() > end) return;
  proxy.Assign(cluster, DnsOf(*proxy.clusters()[cluster].service));
  agenda_.In(Span(kDnsRefresh) + random_.Delay(0.005, 0.7, 0.5),
             [this, &proxy, cluster, end] { Refresh(proxy, cluster, end); });
}

void ControlPlane::Stored(const SliceChange& slice) {
  const auto of =
      std::find_if(cluster_.services().begin(), cluster_.services().end(),
                   [&](const Service& s) { return s.ns == slice.ns && s.name == slice.service; });
  const Service* service = &*of;
  agenda_.In(random_.Delay(0.1, 0.7, 2), [this, service] { dns_[service] = ReadyOf(*service); });
  agenda_.In(random_.Delay(0.02, 0.9, 0.8), [this, service] {
    const bool waiting = !dirty_.empty();
    dirty_.insert(service);
    last_dirty_ = agenda_.now();
    if (!waiting) {
      first_dirty_ = agenda_.now();
      agenda_.In(kDebounceAfter, [this] { Push(); });
    }
  });
}

void ControlPlane::Push() {
  const BootTime due = std::min(last_dirty_ + kDebounceAfter, first_dirty_ + kDebounceMost);
  if (agenda_.now() < due) {
    agenda_.At(due, [this] { Push(); });
    return;
  }
  for (const Service* service : dirty_) {
    const auto assignment = std::make_shared<const Assignment>(ReadyOf(*service));
    for (SimulatedProxy* proxy : proxies_) {
      Nanos delay = random_.Delay(scenario_.push_median, scenario_.push_sigma, 20);
      if (random_.Chance(scenario_.stuck)) delay += Span(random_.Uniform(3, 30));
      PushTo(*proxy, *service, assignment, delay);
    }
  }
  dirty_.clear();
}

void ControlPlane::PushTo(SimulatedProxy& proxy, const Service& service,
                          std::shared_ptr<const Assignment> assignment, Nanos delay) {
  proxy.applied_until = std::max(proxy.applied_until + Nanos(50'000), agenda_.now() + delay);
  agenda_.At(proxy.applied_until, [&proxy, &service, assignment = std::move(assignment)] {
    if (!proxy.alive) return;
    for (size_t i = 0; i < proxy.clusters().size(); ++i) {
      const SimulatedProxy::ClusterState& cluster = proxy.clusters()[i];
      if (cluster.service == &service && cluster.discovery == Discovery::kEds) {
        proxy.Assign(i, *assignment);
      }
    }
  });
}

}  // namespace phantomd::world
