#include "agent/lifecycle/ip_timeline.h"

#include "agent/base/check.h"

namespace phantomd {

IpRecord& IpTimeline::Intern(const IpAddr& ip, bool complete) {
  const auto [it, added] = ips_.try_emplace(ip);
  if (added) it->second.history_complete = complete && !forgot_addresses_;
  return it->second;
}

uint32_t IpTimeline::Add(const IpAddr& ip, uint32_t pod) {
  const uint32_t slot = tenancies_.Add();
  tenancies_[slot].ip = ip;
  tenancies_[slot].pod = pod;
  return slot;
}

void IpTimeline::Link(uint32_t tenancy,
                      absl::FunctionRef<bool(const Tenancy& newer)> belongs_below) {
  Tenancy& added = tenancies_[tenancy];
  PHANTOMD_CHECK(!added.linked);
  const auto it = ips_.find(added.ip);
  PHANTOMD_CHECK(it != ips_.end());
  uint32_t* link = &it->second.newest;
  while (*link != 0 && belongs_below(tenancies_[*link])) link = &tenancies_[*link].older;
  added.older = *link;
  *link = tenancy;
  added.linked = true;
  for (uint32_t at = it->second.newest; at != 0; at = tenancies_[at].older) {
    if (tenancies_[at].pod != added.pod) it->second.several_pods = true;
  }
}

void IpTimeline::Remove(uint32_t tenancy) {
  const Tenancy& removed = tenancies_[tenancy];
  if (removed.linked) {
    const auto it = ips_.find(removed.ip);
    PHANTOMD_CHECK(it != ips_.end());
    uint32_t* link = &it->second.newest;
    while (*link != tenancy) link = &tenancies_[*link].older;
    *link = removed.older;
    it->second.history_complete = false;
  }
  ClearLoss(tenancy);
  tenancies_.Free(tenancy);
}

void IpTimeline::DropEmpty() {
  const size_t before = ips_.size();
  size_t listed_only = 0;
  for (const auto& [ip, record] : ips_) listed_only += record.newest == 0 && record.listed_with_pod;
  const bool keep_listed = listed_only <= kListedOnly;
  absl::erase_if(ips_, [&](const auto& entry) {
    return entry.second.newest == 0 && !(keep_listed && entry.second.listed_with_pod);
  });
  if (ips_.size() != before) forgot_addresses_ = true;
}

void IpTimeline::SetLoss(uint32_t tenancy, const AddressLoss& loss) {
  losses_[tenancy] = loss;
  tenancies_[tenancy].has_loss = true;
}

void IpTimeline::ClearLoss(uint32_t tenancy) {
  if (!tenancies_[tenancy].has_loss) return;
  losses_.erase(tenancy);
  tenancies_[tenancy].has_loss = false;
}

}  // namespace phantomd
