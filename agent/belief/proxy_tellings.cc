// How a ProxyBelief tells itself again: as the polls it remembers, each with the clusters of which
// it told something that is still remembered.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "agent/belief/proxy_belief.h"

namespace phantomd {

std::vector<ProxyBelief::Telling> ProxyBelief::Tellings() const {
  std::vector<Telling> tellings;
  polls_.ForEach([&](const Poll& poll) {
    tellings.push_back({poll.received, Telling::What::kSnapshot, {}, poll, {}, false, {}});
  });
  // What was told by a poll that is no longer remembered is told by the next that is: only counts
  // of connects and confirmations come from such polls, and no answer looks between the two.
  const auto index_of = [&, polls = tellings.size()](BootTime stamp) {
    const auto at =
        std::lower_bound(tellings.begin(), tellings.begin() + static_cast<std::ptrdiff_t>(polls),
                         stamp, [](const Telling& telling, BootTime s) { return telling.at < s; });
    return static_cast<size_t>(at - tellings.begin());
  };
  const size_t polls = tellings.size();

  std::vector<uint32_t> all;
  for (const auto& [name, cluster] : clusters_) {
    all.push_back(name);
    for (BootTime told : cluster.Told()) {
      const size_t at = index_of(told);
      if (at == polls) continue;
      std::vector<uint32_t>& clusters = tellings[at].clusters;
      if (clusters.empty() || clusters.back() != name) clusters.push_back(name);
    }
  }
  for (const Poll& complete : completes_) {
    const size_t at = index_of(complete.received);
    if (at < polls && tellings[at].poll == complete) tellings[at].complete = true;
  }
  // What came before a forgotten beginning is not missing: the first that is left stands for it.
  if (polls > 0 && first_complete_.is_set() && first_complete_ <= tellings.front().at) {
    tellings.front().complete = true;
  }
  for (Telling& telling : tellings) {
    if (telling.complete) telling.clusters = all;
    std::sort(telling.clusters.begin(), telling.clusters.end(),
              [&](uint32_t a, uint32_t b) { return names_.View(a) < names_.View(b); });
  }

  for (const Loss& loss : losses_) {
    Telling telling{loss.told_after, Telling::What::kLost};
    telling.lost = {loss.from, loss.to};
    tellings.push_back(std::move(telling));
  }
  for (BootTime end : ends_) tellings.push_back({end, Telling::What::kGone});
  if (!error_.empty()) {
    tellings.push_back({last_answer_.received, Telling::What::kSnapshot, {}, last_answer_, error_});
  } else if (gone_ && last_answer_.received > polls_.last().received) {
    // What was still in the mail when the proxy ended: it changed nothing, but it was an answer.
    Poll late = last_answer_;
    late.received = std::max(late.received, ends_.back() + kTick);
    tellings.push_back({late.received, Telling::What::kSnapshot, {}, late, {}, false, {}});
  }
  std::stable_sort(tellings.begin(), tellings.end(), [](const Telling& a, const Telling& b) {
    return std::tie(a.at, a.what) < std::tie(b.at, b.what);
  });
  return tellings;
}

BeliefSnapshot ProxyBelief::SnapshotOf(const Telling& telling, WallOffset offset) const {
  BeliefSnapshot snapshot;
  snapshot.proxy_id = id_;
  snapshot.requested = telling.poll.requested;
  snapshot.received = telling.poll.received;
  snapshot.error = telling.error;
  if (!telling.error.empty()) return snapshot;
  snapshot.complete = telling.complete;
  for (uint32_t name : telling.clusters) {
    const ClusterHistory& cluster = clusters_.at(name);
    BeliefSnapshot::Cluster told = cluster.AsToldAt(telling.poll.received, offset, names_);
    const bool removed = !cluster.exists() && cluster.removed() <= telling.poll.received;
    if (!removed) {
      snapshot.clusters.push_back(std::move(told));
    } else if (!telling.complete) {
      snapshot.removed_clusters.emplace_back(names_.View(name));
    }
  }
  return snapshot;
}

}  // namespace phantomd
