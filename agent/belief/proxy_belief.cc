#include "agent/belief/proxy_belief.h"

#include <algorithm>
#include <utility>

namespace phantomd {
namespace {

// A removal explains connections for a minute (cause AFTER_REMOVAL), so what ended within it before
// the horizon still matters behind it.
constexpr Nanos kRemovalMemory = std::chrono::seconds(60);

}  // namespace

std::vector<SocketAddr> ProxyBelief::Apply(const BeliefSnapshot& snapshot, WallOffset offset) {
  // Stamps that run backwards would be our caller's mistake in live use, but a recording may hold
  // anything: the order of arrival then decides.
  Poll poll{snapshot.requested, snapshot.received};
  if (last_answer_.exists()) {
    poll.received = std::max(poll.received, last_answer_.received + kTick);
    poll.requested = std::max(poll.requested, last_answer_.requested);
  }
  poll.requested = std::min(poll.requested, poll.received);
  last_answer_ = poll;
  error_ = snapshot.error;
  if (!snapshot.error.empty()) return {};
  // What was still in the mail when the proxy ended. Should it live after all, a complete snapshot
  // that was asked for after its end says so.
  if (gone_ && (!snapshot.complete || poll.requested <= ends_.back())) return {};
  gone_ = false;
  return ApplyClusters(snapshot, poll, offset);
}

std::vector<SocketAddr> ProxyBelief::ApplyClusters(const BeliefSnapshot& snapshot, const Poll& poll,
                                                   WallOffset offset) {
  std::vector<SocketAddr> appeared;
  std::vector<const BeliefSnapshot::Cluster*> told;
  for (const BeliefSnapshot::Cluster& cluster : snapshot.clusters) told.push_back(&cluster);
  std::stable_sort(told.begin(), told.end(),
                   [](const auto* a, const auto* b) { return a->name < b->name; });

  bool changed = !trusted_;
  for (auto first = told.begin(); first != told.end();) {
    const auto last = std::find_if(
        first, told.end(), [&](const auto* cluster) { return cluster->name != (*first)->name; });
    const uint32_t name = names_.Intern((*first)->name);
    const auto [at, added] = clusters_.try_emplace(name, name);
    ClusterHistory& cluster = at->second;
    const Poll confirmed = added ? (trusted_ ? polls_.last() : trusted_until_) : Confirmed(cluster);
    changed |= added || !cluster.exists();
    changed |= cluster.List({first, last}, {poll, confirmed, BootTime()}, offset, names_,
                            [&](const SocketAddr& address) {
                              index_.Add(address.ip, {number_, name});
                              appeared.push_back(address);
                            });
    if (!trusted_) cluster.NoteUnchained();
    first = last;
  }
  const auto remove = [&](ClusterHistory& cluster) {
    changed |= cluster.Remove({poll, Confirmed(cluster), BootTime()});
    if (!trusted_) cluster.NoteUnchained();
  };
  for (const std::string& name : snapshot.removed_clusters) {
    const auto found = clusters_.find(names_.Intern(name));
    if (found != clusters_.end()) remove(found->second);
  }
  if (snapshot.complete) {
    for (auto& [name, cluster] : clusters_) {
      if (cluster.listed() != poll) remove(cluster);
    }
  }
  polls_.Add(poll);
  if (snapshot.complete) {
    if (!first_complete_.is_set()) first_complete_ = poll.received;
    completes_.push_back(poll);
    changed = true;
  }
  if (snapshot.complete && !trusted_) {
    trusted_ = true;
    for (Loss& loss : losses_) {
      if (!loss.healed.is_set()) loss.healed = poll.received;
    }
  }
  if (changed) polls_.PinLast();
  return appeared;
}

void ProxyBelief::Lost(BootTime from, BootTime to) {
  if (gone_ || !polls_.last().exists()) return;
  // A complete snapshot has made up for it already.
  if (!completes_.empty() && completes_.back().requested > to) return;
  const Poll before = polls_.PinLastBefore(from);
  trusted_until_ = trusted_ || before.received < trusted_until_.received ? before : trusted_until_;
  trusted_ = false;
  losses_.push_back({from, to, last_answer_.received, before, BootTime()});
}

void ProxyBelief::Gone(BootTime when) {
  if (gone_) return;
  if (last_answer_.exists()) when = std::max(when, last_answer_.received + kTick);
  gone_ = true;
  ends_.push_back(when);
  for (auto& [name, cluster] : clusters_) {
    cluster.Remove({{when, when}, Confirmed(cluster), BootTime()});
  }
}

void ProxyBelief::Compact(BootTime horizon) {
  std::vector<BootTime> keep;
  for (auto& [name, cluster] : clusters_) {
    cluster.Compact(horizon - kRemovalMemory, [&, name = name](const IpAddr& ip) {
      index_.Remove(ip, {number_, name});
    });
    for (BootTime told : cluster.Told()) keep.push_back(told);
  }
  const auto old = [&](BootTime stamp) { return stamp < horizon - kRemovalMemory; };
  absl::erase_if(clusters_, [&](const auto& entry) {
    const ClusterHistory& cluster = entry.second;
    return !cluster.exists() && cluster.all().empty() && old(cluster.removed());
  });
  std::erase_if(losses_,
                [&](const Loss& loss) { return loss.healed.is_set() && old(loss.healed); });
  std::erase_if(ends_, [&](BootTime end) { return old(end) && end != ends_.back(); });
  std::erase_if(completes_, [&](const Poll& complete) {
    return old(complete.received) && complete != completes_.back();
  });
  for (const Poll& complete : completes_) keep.push_back(complete.received);
  for (const Loss& loss : losses_) {
    keep.push_back(loss.trusted_until.received);
    keep.push_back(loss.healed);
  }
  std::sort(keep.begin(), keep.end());
  polls_.Compact(horizon - kRemovalMemory, keep);
}

bool ProxyBelief::Forgotten(BootTime horizon) const {
  return gone_ && ends_.back() < horizon - kRemovalMemory && clusters_.empty();
}

const ClusterHistory* ProxyBelief::Cluster(uint32_t name) const {
  const auto found = clusters_.find(name);
  return found == clusters_.end() ? nullptr : &found->second;
}

Poll ProxyBelief::Confirmed(const ClusterHistory& cluster) const {
  if (trusted_) return polls_.last();
  return cluster.listed().received > trusted_until_.received ? cluster.listed() : trusted_until_;
}

ClusterBelief ProxyBelief::BeliefOf(const ClusterHistory& cluster, const EndpointHistory& endpoint,
                                    const EndpointHistory::Stay& stay, Hold hold) const {
  ClusterBelief belief;
  belief.cluster = names_.View(cluster.name());
  belief.service = names_.View(cluster.service());
  belief.mesh_cluster = names_.View(endpoint.listing().mesh_cluster);
  belief.workload = names_.View(endpoint.listing().workload);
  belief.discovery = cluster.discovery();
  belief.layer = cluster.layer();
  belief.hold = hold;
  belief.first_seen = stay.begin.first_at;
  belief.last_seen = stay.last.received;
  belief.gone_by = stay.gone_at;
  belief.since_first_poll = stay.begin.first <= polls_.first().received;
  belief.failed_outlier_check = endpoint.listing().failed_outlier_check;
  belief.failed_active_health_check = endpoint.listing().failed_active_health_check;
  return belief;
}

int64_t ProxyBelief::ConnectsAround(const EndpointHistory& endpoint,
                                    const EndpointHistory::Stay& stay, BootTime t) const {
  const auto around = polls_.Around(t);
  if (!around || !stay.latest) return -1;
  const auto& [before, after] = *around;
  if (after.received > stay.last.received) return -1;
  if (LossWithin(before.received, after.received)) return -1;
  const int64_t later = endpoint.ConnectsAt(after.received);
  // A new host begins at 0; that it counted none does not tell of one that came and went before it.
  if (before.received < stay.begin.first) return later > 0 ? later : -1;
  const int64_t earlier = endpoint.ConnectsAt(before.received);
  // A count that fell is that of a new host at the same address: it went and came back unseen.
  return earlier < 0 || later < earlier ? -1 : later - earlier;
}

BootTime ProxyBelief::ToldAfter(BootTime t) const {
  const Poll after = polls_.FirstAfter(t);
  const bool told = after.exists() && !LossWithin(after.received, after.received);
  return told ? after.received : BootTime::Max();
}

bool ProxyBelief::LossWithin(BootTime from, BootTime to) const {
  return std::any_of(losses_.begin(), losses_.end(), [&](const Loss& loss) {
    return loss.trusted_until.received < to && (!loss.healed.is_set() || loss.healed > from);
  });
}

Belief::ProxyFacts ProxyBelief::Facts() const {
  Belief::ProxyFacts facts;
  facts.known = polls_.last().exists();
  if (facts.known) facts.last_good = polls_.last().received;
  if (last_answer_.exists()) facts.last_answer = last_answer_.received;
  facts.error = error_;
  for (const auto& [name, cluster] : clusters_) {
    if (!cluster.exists()) continue;
    ++facts.clusters;
    facts.endpoints += static_cast<uint32_t>(cluster.endpoints());
  }
  facts.median_poll = polls_.Median();
  return facts;
}

}  // namespace phantomd
