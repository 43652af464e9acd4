// How the core takes over what another had concluded, and says it.
#include <algorithm>

#include "agent/engine/core.h"
#include "agent/engine/export.h"

namespace phantomd {

void Core::Export(const std::function<void(const Input&)>& sink) const {
  ExportKnowledge(knowledge(), sink);
  const auto tell = [&](RestoredPart part) {
    sink({now_, Restored{std::make_shared<const RestoredPart>(std::move(part))}});
  };
  EngineTotals totals{.started = counting_since_,
                      .next_housekeeping = next_housekeeping_,
                      .next_compaction = next_compaction_,
                      .compacted_to = compacted_to_,
                      .judged = judged_so_far_,
                      .lost = lost_,
                      .late = late_.counts(),
                      .mesh_cluster_votes = mesh_cluster_.votes(),
                      .mesh_cluster = std::string(mesh_cluster_.name()),
                      .feeds = FeedsNow()};
  std::vector<Counted> counted;
  bool first = true;
  ledger_.Export(lifecycle_, [&](Counted part) {
    // The ledger's totals come first, and within the engine's.
    if (std::exchange(first, false)) {
      totals.counted = std::get<CountedTotals>(std::move(part.part));
      return tell(std::move(totals));
    }
    tell(std::move(part));
  });
  lifecycle_.ExportRemnants(tell);
  for (const auto& [id, entry] : proxies_.all()) {
    const PodRef& pod = entry.named.pod;
    if (pod != entry.told.pod && lifecycle_.FindPod(pod.uid) == PodHandle::kNone) {
      tell(PodOfProxy{id, pod});
    }
  }
  silence_.Export(lifecycle_, tell);
  for (const auto& [id, ips] : planner_.watched_of()) {
    tell(WatchedAddresses{id, {ips.begin(), ips.end()}});
  }
  LastHolders holders;
  for (const PodHandle pod : departed_) {
    if (const PodRef* ref = lifecycle_.Pod(pod)) holders.pods.push_back(ref->uid);
  }
  std::sort(holders.pods.begin(), holders.pods.end());
  if (!holders.pods.empty()) tell(std::move(holders));
  for (const auto& [ticket, held] : held_.all()) tell(held);
  for (const auto& [number, held] : ends_.all()) tell(held);
}

std::map<Feed, FeedTotals> Core::FeedsNow() const {
  std::map<Feed, FeedTotals> feeds = feeds_before_;
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    const Lifecycle::FeedFacts facts = lifecycle_.feed(feed);
    feeds[feed].relists += facts.relists;
    feeds[feed].last_change = std::max(feeds[feed].last_change, facts.last_change);
  }
  return feeds;
}

void Core::On(const Restored& restored, BootTime) {
  std::visit([&](const auto& part) { Restore(part); }, *restored.part);
}

void Core::Restore(const EngineTotals& totals) {
  counting_since_ = totals.started;
  next_housekeeping_ = std::max(totals.next_housekeeping, now_ + Nanos(1));
  next_compaction_ = totals.next_compaction;
  judged_so_far_ = totals.judged;
  lost_ = totals.lost;
  late_.Restore(totals.late);
  mesh_cluster_.Restore(totals.mesh_cluster_votes, totals.mesh_cluster);
  ledger_.Restore(totals.counted, lifecycle_);
  feeds_before_ = totals.feeds;
  for (auto& [feed, before] : feeds_before_) {
    before.relists -= std::min(before.relists, lifecycle_.feed(feed).relists);
  }
  // What telling the past again led to is replaced by what follows.
  silence_.Clear();
  planner_.Clear();
  if (totals.compacted_to.is_set()) {
    compacted_to_ = totals.compacted_to;
    Forget(compacted_to_);
  }
}

void Core::Restore(const HeldAttempt& held) {
  held_.Restore(held);
  const ProxyId& asked = held.waits.poll;
  if (!asked.empty()) planner_.SetAnswerAfter(asked, held_.PollNeededAfter(asked));
}

void Core::Restore(const HeldEnd& held) { ends_.Add(held); }
void Core::Restore(const NodeSilence& silence) { silence_.Restore(silence, lifecycle_); }
void Core::Restore(const WatchedAddresses& watched) { planner_.Restore(watched); }

void Core::Restore(const LastHolders& holders) {
  for (const PodUid& uid : holders.pods) {
    const PodHandle pod = lifecycle_.FindPod(uid);
    if (pod != PodHandle::kNone) departed_.insert(pod);
  }
}

void Core::Restore(const PodOfProxy& named) { proxies_.Restore(named, lifecycle_); }
void Core::Restore(const LifecycleRemnant& remnant) { lifecycle_.Restore(remnant); }
void Core::Restore(const Counted& counted) { ledger_.Restore(counted, lifecycle_); }

}  // namespace phantomd
