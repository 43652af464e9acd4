#include "agent/lifecycle/lifecycle.h"

#include <algorithm>
#include <utility>

#include "agent/lifecycle/lifecycle_impl.h"

namespace phantomd {

Lifecycle::Lifecycle(Options options, WallOffset offset)
    : impl_(std::make_unique<Impl>(std::move(options), offset)) {}
Lifecycle::~Lifecycle() = default;

TouchedAddresses Lifecycle::Apply(const PodChange& change, BootTime observed) {
  return impl_->Apply(change, observed);
}
TouchedAddresses Lifecycle::Apply(const SliceChange& change, BootTime observed) {
  return impl_->Apply(change, observed);
}
TouchedAddresses Lifecycle::Apply(const NodeChange& change, BootTime observed) {
  return impl_->Apply(change, observed);
}
TouchedAddresses Lifecycle::Apply(const PodEnd& end, BootTime observed) {
  return impl_->Apply(end, observed);
}
void Lifecycle::Apply(const FeedChange& change, BootTime observed) {
  impl_->Apply(change, observed);
}

void Lifecycle::SetWallOffset(WallOffset offset) { impl_->rules.offset = offset; }
WallOffset Lifecycle::wall_offset() const { return impl_->rules.offset; }

void Lifecycle::Compact(BootTime horizon) { impl_->Compact(horizon); }
BootTime Lifecycle::horizon() const {
  return std::max(impl_->horizon, impl_->pod_feed.first_sync());
}

AddressFacts Lifecycle::At(const IpAddr& ip, BootTime t) const { return impl_->At(ip, t); }
Meaning Lifecycle::MeaningOf(std::string_view service, PodHandle pod) const {
  return impl_->MeaningOf(service, pod);
}
bool Lifecycle::ServiceKnown(std::string_view service) const {
  return impl_->services.FindService(service) != 0;
}

const PodRef* Lifecycle::Pod(PodHandle pod) const {
  const uint32_t slot = impl_->pods.Find(pod);
  return slot == 0 ? nullptr : impl_->pods.Ref(slot);
}

std::string_view Lifecycle::NodeOf(PodHandle pod) const {
  const uint32_t slot = impl_->pods.Find(pod);
  return slot == 0 ? std::string_view() : impl_->pods.Text(impl_->pods[slot].node);
}

PodHandle Lifecycle::FindPod(const PodUid& uid) const {
  const uint32_t slot = impl_->pods.Find(uid);
  return slot == 0 ? PodHandle::kNone : impl_->pods[slot].handle;
}

std::vector<TenancyFacts> Lifecycle::Tenancies(const IpAddr& ip) const {
  std::vector<TenancyFacts> all;
  const IpRecord* record = impl_->ips.Find(ip);
  if (record == nullptr) return all;
  impl_->bounds.Walk(record->newest, [&](const ResolvedTenancy& resolved) {
    all.push_back(impl_->FactsOf(resolved));
    return true;
  });
  return all;
}

TimeBounds Lifecycle::WithdrawnBounds(PodHandle pod) const {
  const uint32_t slot = impl_->pods.Find(pod);
  if (slot == 0) return {BootTime::Max(), BootTime::Max()};
  return impl_->WithdrawnBounds(slot);
}

absl::InlinedVector<IpAddr, 2> Lifecycle::AddressesOf(PodHandle pod) const {
  absl::InlinedVector<IpAddr, 2> addresses;
  const uint32_t slot = impl_->pods.Find(pod);
  if (slot == 0) return addresses;
  for (uint32_t at = impl_->pods[slot].tenancies; at != 0; at = impl_->ips[at].next_of_pod) {
    if (impl_->ips[at].linked) addresses.push_back(impl_->ips[at].ip);
  }
  return addresses;
}

TimeBounds Lifecycle::ReleasedBounds(PodHandle pod) const {
  const uint32_t slot = impl_->pods.Find(pod);
  if (slot == 0) return {BootTime::Max(), BootTime::Max()};
  return impl_->ReleasedBounds(slot);
}

const WorkloadChange* Lifecycle::ChangeOf(PodHandle pod, BootTime now) const {
  impl_->departures.Settle(now);
  const uint32_t slot = impl_->pods.Find(pod);
  return slot == 0 ? nullptr : impl_->departures.ChangeOf(slot);
}

std::vector<const WorkloadChange*> Lifecycle::Changes(BootTime now) const {
  impl_->departures.Settle(now);
  return impl_->departures.Changes();
}

Departure Lifecycle::DepartureOf(PodHandle pod, BootTime now) const {
  impl_->departures.Settle(now);
  const uint32_t slot = impl_->pods.Find(pod);
  return slot == 0 ? Departure::kUnspecified : static_cast<Departure>(impl_->pods[slot].departure);
}

std::vector<IpAddr> Lifecycle::StaleAddresses(BootTime now) const {
  std::vector<IpAddr> stale;
  for (const auto& [ip, record] : impl_->ips.ips()) {
    if (impl_->IsStale(record.newest, now)) stale.push_back(ip);
  }
  std::sort(stale.begin(), stale.end());
  return stale;
}

bool Lifecycle::IsStale(const IpAddr& ip, BootTime now) const {
  const IpRecord* record = impl_->ips.Find(ip);
  return record != nullptr && impl_->IsStale(record->newest, now);
}

Lifecycle::FeedFacts Lifecycle::feed(Feed feed) const {
  const FeedLog& log = impl_->Log(feed);
  return {.ever_synced = log.first_sync() != BootTime::Max(),
          .synced = log.synced(),
          .good_until = log.synced() ? BootTime() : log.good_until(),
          .last_change = log.last_change(),
          .relists = log.syncs() > 0 ? log.syncs() - 1 : 0};
}

size_t Lifecycle::pods() const { return impl_->live; }
size_t Lifecycle::tombstones() const { return impl_->tombstones; }

void Lifecycle::Export(const ExportSink& sink) const { impl_->Export(sink); }

}  // namespace phantomd
