#include "agent/lifecycle/service_index.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "agent/base/strings.h"
#include "agent/lifecycle/time_rules.h"
#include "fmt/format.h"

namespace phantomd {

uint32_t ServiceIndex::FindService(std::string_view name) const {
  const auto it = by_name_.find(ToAbsl(name));
  return it == by_name_.end() ? 0 : it->second;
}

uint32_t ServiceIndex::InternService(std::string_view ns, std::string_view service) {
  // A slice without the label belongs to nobody's Service but its own nameless one.
  std::string name = fmt::format("{}/{}", ns, service);
  const auto [it, added] = by_name_.try_emplace(name, static_cast<uint32_t>(services_.size()));
  if (added) services_.push_back({std::move(name)});
  return it->second;
}

uint32_t ServiceIndex::InternListing(uint32_t service, uint32_t tenancy, bool ready,
                                     const Tenancies& tenancies, BootTime observed) {
  uint32_t& head = tenancies.listings(tenancy);
  for (uint32_t at = head; at != 0; at = listings_[at].next) {
    if (listings_[at].service != service) continue;
    // Twice in one change, once ready: it was ready from the start.
    if (ready && listings_[at].unseen_start && unseen_starts_.at(at) == observed) {
      listings_[at].unseen_start = false;
      unseen_starts_.erase(at);
    }
    return at;
  }
  const uint32_t slot = listings_.Add();
  Listing& listing = listings_[slot];
  listing.tenancy = tenancy;
  listing.service = service;
  listing.next = head;
  listing.in_told = observed;
  listing.unseen_start = !ready && feed_.CatchingUp(observed);
  if (listing.unseen_start) unseen_starts_[slot] = observed;
  head = slot;
  tenancies.listed(tenancy, service);
  return slot;
}

void ServiceIndex::Apply(const SliceChange& change, BootTime observed, Tenancies tenancies,
                         absl::FunctionRef<void(uint32_t tenancy)> touched,
                         absl::FunctionRef<void(const IpAddr&)> manual) {
  const std::string key = fmt::format("{}/{}", change.ns, change.name);
  const auto known = slices_.find(key);
  if (known == slices_.end() && change.deleted) return;
  const uint32_t service = change.deleted && change.service.empty()
                               ? known->second.service
                               : InternService(change.ns, change.service);
  std::vector<Entry> before;
  if (known != slices_.end()) {
    before = std::move(known->second.entries);
    --services_[known->second.service].slices;
  }

  std::vector<Entry> after;
  if (!change.deleted) {
    ++services_[service].slices;
    for (const SliceChange::Endpoint& endpoint : change.endpoints) {
      for (const IpAddr& ip : endpoint.addresses) {
        Entry entry{.ready = endpoint.ready,
                    .terminating = endpoint.terminating,
                    .manual = endpoint.pod_uid.empty()};
        if (entry.manual) {
          entry.listing = InternManual(ip);
        } else {
          const uint32_t tenancy = tenancies.intern(endpoint.pod_uid, ip, change.ns);
          entry.listing = InternListing(service, tenancy, entry.ready, tenancies, observed);
        }
        after.push_back(entry);
      }
    }
  }

  // Counts first, for the whole slice; only then is each listing's state looked at, because an
  // endpoint may stand in a slice twice.
  struct Change {
    uint32_t listing;
    bool terminating;
  };
  absl::InlinedVector<Change, 8> changed;
  for (const Entry& entry : before) {
    if (entry.manual) {
      SetManual(ManualAddress(entry), known->second.service, false, observed);
      continue;
    }
    --listings_[entry.listing].slices;
    if (entry.ready) --listings_[entry.listing].ready_slices;
    changed.push_back({entry.listing, false});
  }
  for (const Entry& entry : after) {
    if (entry.manual) {
      SetManual(ManualAddress(entry), service, true, observed);
      continue;
    }
    ++listings_[entry.listing].slices;
    if (entry.ready) ++listings_[entry.listing].ready_slices;
    changed.push_back({entry.listing, entry.terminating});
  }
  std::stable_sort(changed.begin(), changed.end(), [](const Change& a, const Change& b) {
    return std::pair(a.listing, a.terminating) < std::pair(b.listing, b.terminating);
  });
  for (size_t i = 0; i < changed.size(); ++i) {
    if (i + 1 < changed.size() && changed[i + 1].listing == changed[i].listing) continue;
    const uint32_t id = changed[i].listing;
    Listing& listing = listings_[id];
    if (listing.ready_slices == 0 && !listing.ever_ready && feed_.CatchingUp(observed)) {
      // Not ready, or gone, in the list after a gap: it may have been in service inside the gap.
      listing.unseen_start = true;
      unseen_starts_[id] = observed;
    }
    Settle(listing, changed[i].terminating, observed);
  }

  std::vector<Entry> differing;
  std::vector<Entry> sorted = after;
  std::sort(before.begin(), before.end());
  std::sort(sorted.begin(), sorted.end());
  std::set_symmetric_difference(before.begin(), before.end(), sorted.begin(), sorted.end(),
                                std::back_inserter(differing));
  for (const Entry& entry : differing) {
    if (entry.manual) {
      manual(ManualAddress(entry));
    } else {
      touched(listings_[entry.listing].tenancy);
    }
  }

  if (change.deleted) {
    slices_.erase(key);
    return;
  }
  Slice& slice = slices_[key];
  slice.ns = change.ns;
  slice.name = change.name;
  slice.service = service;
  slice.told = observed;
  after.shrink_to_fit();
  slice.entries = std::move(after);
}

// Opens or closes the listing's time in service, now that the slices say what they say.
void ServiceIndex::Settle(Listing& listing, bool terminating, BootTime observed) {
  if (listing.ready_slices > 0) {
    if (listing.in_service()) return;
    if (listing.ever_ready) {
      if (listing.by_removal && observed - listing.out_told <= kSliceMove) {
        listing.out_told = BootTime();  // it was only moved
        return;
      }
      const uint32_t span = spans_.Add();
      spans_[span] = {listing.in_told, listing.out_told, listing.older, listing.by_removal,
                      listing.by_terminating};
      listing.older = span;
    }
    listing.ever_ready = true;
    listing.in_told = observed;
    listing.out_told = BootTime();
    return;
  }
  if (!listing.in_service()) return;
  listing.out_told = observed;
  listing.by_removal = listing.slices == 0;
  listing.by_terminating = terminating;
}

uint32_t ServiceIndex::InternManual(const IpAddr& ip) {
  const auto [it, added] = manual_ids_.try_emplace(ip, static_cast<uint32_t>(manual_ips_.size()));
  if (added) manual_ips_.push_back(ip);
  return it->second;
}

void ServiceIndex::SetManual(const IpAddr& ip, uint32_t service, bool listed, BootTime observed) {
  std::vector<ManualSpan>& spans = manual_[ip];
  for (ManualSpan& span : spans) {
    if (span.service != service || span.to == BootTime::Max()) continue;
    // Listed again by the same change that took it away: it was never gone.
    if (listed && span.to == observed) {
      span.to = BootTime::Max();
      return;
    }
  }
  if (listed) {
    spans.push_back({observed, BootTime::Max(), service});
    return;
  }
  for (ManualSpan& span : spans) {
    if (span.service == service && span.to == BootTime::Max()) {
      span.to = observed;
      return;
    }
  }
}

bool ServiceIndex::ListedManually(const IpAddr& ip, BootTime t) const {
  const auto it = manual_.find(ip);
  if (it == manual_.end()) return false;
  return std::any_of(it->second.begin(), it->second.end(), [&](const ManualSpan& span) {
    return t >= feed_.NewsFloor(span.from) && t <= span.to;
  });
}

bool ServiceIndex::Lists(uint32_t service, uint32_t listings) const {
  for (uint32_t at = listings; at != 0; at = listings_[at].next) {
    if (listings_[at].service == service) return true;
  }
  return false;
}

bool ServiceIndex::ListedNow(uint32_t listings) const {
  for (uint32_t at = listings; at != 0; at = listings_[at].next) {
    if (listings_[at].slices > 0) return true;
  }
  return false;
}

BootTime ServiceIndex::OldestIn(uint32_t listing) const {
  BootTime oldest = listings_[listing].in_told;
  for (uint32_t at = listings_[listing].older; at != 0; at = spans_[at].older) {
    oldest = spans_[at].in_told;
  }
  return oldest;
}

BootTime ServiceIndex::LastToldOf(uint32_t listings) const {
  BootTime last = BootTime::Min();
  for (uint32_t at = listings; at != 0; at = listings_[at].next) {
    last = std::max({last, listings_[at].in_told, listings_[at].out_told});
  }
  return last;
}

BootTime ServiceIndex::OutOfServiceSince(uint32_t listings) const {
  BootTime since;
  for (uint32_t at = listings; at != 0; at = listings_[at].next) {
    if (listings_[at].in_service()) return BootTime();
    since = std::max(since, listings_[at].out_told);
  }
  return since;
}

void ServiceIndex::Forget(uint32_t listings) {
  while (listings != 0) {
    const Listing listing = listings_[listings];
    for (uint32_t span = listing.older; span != 0;) {
      const uint32_t older = spans_[span].older;
      spans_.Free(span);
      span = older;
    }
    unseen_starts_.erase(listings);
    listings_.Free(listings);
    listings = listing.next;
  }
}

void ServiceIndex::Compact(BootTime horizon) {
  absl::erase_if(manual_, [&](auto& entry) {
    std::erase_if(entry.second, [&](const ManualSpan& span) { return span.to < horizon; });
    return entry.second.empty();
  });
}

}  // namespace phantomd
