// What is left of forgotten news, told and taken over.
#include <algorithm>
#include <tuple>

#include "agent/lifecycle/lifecycle_impl.h"

namespace phantomd {

void Departures::ExportRemnants(const std::function<void(LifecycleRemnant)>& sink) const {
  DepartureRemnants remnants;
  for (const Waiting& waiting : waiting_) {
    remnants.waiting.push_back({pods_.Uid(waiting.pod), waiting.told});
  }
  for (const auto& [workload, family] : families_) {
    for (const Revision& revision : family.revisions) {
      remnants.revisions.push_back({workload, pods_.Text(revision.id),
                                    revision.newest_created.time(), revision.newest_told});
    }
  }
  std::sort(remnants.revisions.begin(), remnants.revisions.end(), [](const auto& a, const auto& b) {
    return std::tie(a.workload, a.revision) < std::tie(b.workload, b.revision);
  });
  for (uint32_t slot = 1; slot < pods_.end() && !waiting_.empty(); ++slot) {
    const PodRecord& pod = pods_[slot];
    if (pod.handle == PodHandle::kNone || !pod.makes_up_for) continue;
    const auto family = families_.find(pods_.Workload(slot));
    if (family == families_.end() || family->second.waiting == 0) continue;
    remnants.replacements.push_back(pods_.Uid(slot));
  }
  std::sort(remnants.replacements.begin(), remnants.replacements.end());
  sink(std::move(remnants));
  for (const auto& [id, entry] : entries_) {
    const WorkloadChange& change = entry.change;
    ChangeRemnant remnant{.name = change.name,
                          .workload = change.workload,
                          .from_revision = change.from_revision,
                          .to_revision = change.to_revision,
                          .departure = change.departure,
                          .started = change.started,
                          .superseded = change.superseded,
                          .first = entry.first.time(),
                          .last = entry.last.time()};
    for (const PodHandle pod : change.pods) remnant.pods.push_back(pods_.Uid(pods_.Find(pod)));
    sink(std::move(remnant));
  }
}

void Departures::Restore(const DepartureRemnants& remnants) {
  for (const auto& [id, entry] : entries_) {
    for (const PodHandle pod : entry.change.pods) {
      PodRecord& record = pods_[pods_.Find(pod)];
      record.change = 0;
      record.departure = static_cast<uint8_t>(Departure::kUnspecified);
    }
  }
  entries_.clear();
  waiting_.clear();
  for (auto& [workload, family] : families_) {
    family.changes.clear();
    family.waiting = 0;
  }
  for (const DepartureRemnants::Waiting& waiting : remnants.waiting) {
    const uint32_t slot = pods_.Find(waiting.pod);
    if (slot == 0) continue;
    waiting_.push_back({slot, waiting.told});
    ++FamilyOf(slot).waiting;
  }
  for (const PodUid& uid : remnants.replacements) {
    if (const uint32_t slot = pods_.Find(uid); slot != 0) pods_[slot].makes_up_for = true;
  }
  for (const DepartureRemnants::Revision& told : remnants.revisions) {
    const auto family = families_.find(told.workload);
    if (family == families_.end()) continue;
    for (Revision& revision : family->second.revisions) {
      if (pods_.Text(revision.id) != told.revision) continue;
      revision.newest_created = WallSecond::Of(told.newest_created);
      revision.newest_told = told.newest_told;
    }
  }
}

void Departures::Restore(const ChangeRemnant& remnant) {
  Entry entry;
  entry.change = {.name = remnant.name,
                  .workload = remnant.workload,
                  .from_revision = remnant.from_revision,
                  .to_revision = remnant.to_revision,
                  .departure = remnant.departure,
                  .started = remnant.started,
                  .superseded = remnant.superseded};
  entry.first = WallSecond::Of(remnant.first);
  entry.last = WallSecond::Of(remnant.last);
  Family* family = nullptr;
  for (const PodUid& uid : remnant.pods) {
    const uint32_t slot = pods_.Find(uid);
    if (slot == 0 || pods_[slot].change != 0) continue;
    if (family == nullptr) {
      family = &FamilyOf(slot);
      family->changes.push_back(++last_id_);
    }
    entry.change.pods.push_back(pods_[slot].handle);
    pods_[slot].change = last_id_;
    pods_[slot].departure = static_cast<uint8_t>(remnant.departure);
  }
  if (family != nullptr) entries_.emplace(last_id_, std::move(entry));
}

void Lifecycle::ExportRemnants(const std::function<void(LifecycleRemnant)>& sink) const {
  impl_->departures.ExportRemnants(sink);
  AddressRemnants remnants{.forgot_addresses = impl_->ips.forgot_addresses()};
  for (const auto& [ip, record] : impl_->ips.ips()) {
    const bool listed_only = record.newest == 0 && record.listed_with_pod;
    if (!record.several_pods && record.history_complete && !listed_only) continue;
    remnants.addresses.push_back(
        {ip, record.several_pods, !record.history_complete, record.listed_with_pod});
  }
  std::sort(remnants.addresses.begin(), remnants.addresses.end(),
            [](const auto& a, const auto& b) { return a.ip < b.ip; });
  sink(std::move(remnants));
}

void Lifecycle::Restore(const LifecycleRemnant& remnant) {
  if (const auto* departures = std::get_if<DepartureRemnants>(&remnant)) {
    impl_->departures.Restore(*departures);
  } else if (const auto* change = std::get_if<ChangeRemnant>(&remnant)) {
    impl_->departures.Restore(*change);
  } else {
    const auto& addresses = std::get<AddressRemnants>(remnant);
    for (const AddressRemnants::Address& told : addresses.addresses) {
      IpRecord& record = impl_->ips.Intern(told.ip, true);
      impl_->pod_ranges.Saw(told.ip);
      record.several_pods |= told.several_pods;
      if (told.history_incomplete) record.history_complete = false;
      record.listed_with_pod |= told.listed_with_pod;
    }
    if (addresses.forgot_addresses) impl_->ips.NoteForgotten();
  }
}

}  // namespace phantomd
