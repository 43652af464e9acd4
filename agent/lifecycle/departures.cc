#include "agent/lifecycle/departures.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <string_view>

#include "agent/base/check.h"
#include "fmt/chrono.h"
#include "fmt/format.h"

namespace phantomd {
namespace {

// A pod that nothing makes again.
bool IsBare(const WorkloadRef& workload) { return workload.name.empty() || workload.kind == "Pod"; }

// Each of its pods keeps a place, and is replaced there once it is gone: the one that takes the
// place is the successor, whatever other revisions are alive meanwhile.
bool KeepsPlaces(const WorkloadRef& workload) {
  return workload.kind == "StatefulSet" || workload.kind == "DaemonSet";
}

std::string_view NameOf(Departure departure) {
  switch (departure) {
    case Departure::kScaleDown:
      return "scale-down-";
    case Departure::kEviction:
      return "eviction-";
    case Departure::kCompleted:
      return "completed-";
    case Departure::kDeleted:
      return "deleted-";
    case Departure::kRollout:
    case Departure::kUnspecified:
      break;
  }
  return "";
}

Nanos Apart(WallSecond a, WallSecond b) {
  return a < b ? b.time() - a.time() : a.time() - b.time();
}

// Ended by itself before anybody asked it to go.
bool EndedFirst(const PodFacts& facts) {
  if (!facts.terminal_told.is_set()) return false;
  if (!facts.deletion_requested.is_set()) return true;
  if (facts.terminal_told != facts.deletion_told) return facts.terminal_told < facts.deletion_told;
  // Both told at once, by a list: the API's own times tell.
  return facts.finished.is_set() && facts.finished < facts.deletion_requested;
}

// When it began to go, as a second that is the same on every node wherever the API tells one, and
// likely.
struct Start {
  WallSecond second;
  BootTime likely;
};

Start StartOf(const PodRecord& pod, Departure departure, BootTime told, const TimeRules& rules) {
  const PodFacts& facts = pod.facts;
  Start start{WallSecond::Of(rules.offset.ToWall(told)), told - rules.typical_delay};
  const auto from_api = [&](WallSecond second, BootTime second_told) {
    TimeBounds bounds = rules.OfApi(second);
    bounds.not_after = std::min(bounds.not_after, second_told);
    bounds.not_before = std::min(bounds.not_before, bounds.not_after);
    start = {second, LikelyBefore(bounds, rules.typical_delay)};
  };
  const bool by_request = facts.deletion_requested.is_set() && departure != Departure::kCompleted;
  if (by_request) {
    from_api(facts.deletion_requested, facts.deletion_told);
  } else if (facts.finished.is_set()) {
    from_api(facts.finished, facts.finished_told);
  }
  return start;
}

}  // namespace

void Departures::Update(uint32_t slot, bool node_lost, BootTime observed) {
  PodRecord& pod = pods_[slot];
  if (!pod.told) return;
  if (!IsLeaving(pod.facts)) {
    if (!pod.counted) Arrive(slot);
  } else if (!pod.departing) {
    Leave(slot, node_lost, observed);
  }
}

void Departures::Arrive(uint32_t slot) {
  PodRecord& pod = pods_[slot];
  Family& family = FamilyOf(slot);
  auto it = std::find_if(family.revisions.begin(), family.revisions.end(),
                         [&](const Revision& revision) { return revision.id == pod.revision; });
  if (it == family.revisions.end()) {
    it = family.revisions.insert(it, Revision{.id = pod.revision});
  }
  ++it->alive;
  it->newest_created = std::max(it->newest_created, pod.facts.created);
  it->newest_told = std::max(it->newest_told, pod.facts.first_told);
  pod.counted = true;
  if (!synced_ || family.waiting == 0) return;

  // It may be the successor that a departure of its workload waits for: of those, the one whose
  // place it takes.
  const bool takes_place = std::any_of(waiting_.begin(), waiting_.end(),
                                       [&](const Waiting& w) { return TakesPlaceOf(slot, w.pod); });
  const auto settle = [&](const auto& by) {
    // The newest first: a controller makes up for a loss at once.
    for (size_t i = waiting_.size(); i-- > 0;) {
      const Waiting waiting = waiting_[i];
      if (pods_[waiting.pod].workload != pod.workload) continue;
      if (takes_place && !TakesPlaceOf(slot, waiting.pod)) continue;
      if (!by(waiting)) continue;
      --family.waiting;
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    }
  };
  // Another revision takes the place of all that wait, one of their own makes up for one.
  settle([&](const Waiting& waiting) {
    const PodRecord& gone = pods_[waiting.pod];
    if (gone.revision != pod.revision) {
      if (!takes_place) return SettleBySuccessor(waiting.pod);
      Join(waiting.pod, Departure::kRollout, pods_.Text(pod.revision), waiting.told);
      return true;
    }
    const bool later = gone.facts.deletion_requested.is_set()
                           ? pod.facts.created >= gone.facts.deletion_requested
                           : pod.facts.first_told >= waiting.told;
    if (pod.makes_up_for || !later) return false;
    pod.makes_up_for = true;
    Join(waiting.pod, Departure::kDeleted, pods_.Text(gone.revision), waiting.told);
    return true;
  });
}

void Departures::Uncount(uint32_t slot) {
  PodRecord& pod = pods_[slot];
  if (!pod.counted) return;
  pod.counted = false;
  Family& family = FamilyOf(slot);
  const auto it =
      std::find_if(family.revisions.begin(), family.revisions.end(),
                   [&](const Revision& revision) { return revision.id == pod.revision; });
  PHANTOMD_CHECK(it != family.revisions.end());
  if (--it->alive == 0) family.revisions.erase(it);
}

void Departures::Leave(uint32_t slot, bool node_lost, BootTime observed) {
  Uncount(slot);
  PodRecord& pod = pods_[slot];
  pod.departing = true;
  const std::string& own = pods_.Text(pod.revision);
  if (pod.reason_is_eviction || node_lost) {
    Join(slot, Departure::kEviction, own, observed);
  } else if (EndedFirst(pod.facts)) {
    Join(slot, Departure::kCompleted, own, observed);
  } else if (IsBare(pods_.Workload(slot))) {
    Join(slot, Departure::kDeleted, own, observed);
  } else if (!synced_ || KeepsPlaces(pods_.Workload(slot)) || !SettleBySuccessor(slot)) {
    waiting_.push_back({slot, observed});
    ++FamilyOf(slot).waiting;
  }
}

bool Departures::TakesPlaceOf(uint32_t slot, uint32_t gone) const {
  const WorkloadRef& workload = pods_.Workload(slot);
  if (pods_[slot].workload != pods_[gone].workload || !KeepsPlaces(workload)) return false;
  if (workload.kind == "DaemonSet") return pods_[slot].node == pods_[gone].node;
  return pods_.Ref(slot)->name == pods_.Ref(gone)->name;
}

const Departures::Revision* Departures::Successor(const Family& family, uint32_t revision) const {
  const Revision* newest = nullptr;
  const auto newer = [&](const Revision& a, const Revision& b) {
    if (a.newest_created != b.newest_created) return a.newest_created > b.newest_created;
    if (a.newest_told != b.newest_told) return a.newest_told > b.newest_told;
    return pods_.Text(a.id) > pods_.Text(b.id);
  };
  for (const Revision& other : family.revisions) {
    if (other.id == revision) continue;
    if (newest == nullptr || newer(other, *newest)) newest = &other;
  }
  return newest;
}

bool Departures::SettleBySuccessor(uint32_t slot) {
  const PodRecord& pod = pods_[slot];
  const Revision* successor = Successor(FamilyOf(slot), pod.revision);
  if (successor == nullptr) return false;
  // The receipt of what took it away: the same whether the successor was there or came later.
  const BootTime told = pod.facts.deletion_told.is_set()   ? pod.facts.deletion_told
                        : pod.facts.terminal_told.is_set() ? pod.facts.terminal_told
                                                           : pod.facts.deleted_told;
  Join(slot, Departure::kRollout, pods_.Text(successor->id), told);
  return true;
}

void Departures::SetSynced(bool synced) {
  const bool caught_up = synced && !synced_;
  synced_ = synced;
  if (!caught_up) return;
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (!SettleBySuccessor(waiting.pod)) return false;
    --FamilyOf(waiting.pod).waiting;
    return true;
  });
}

void Departures::Settle(BootTime now) {
  while (synced_ && !waiting_.empty() && waiting_.front().told + kSettleWithin <= now) {
    const Waiting waiting = waiting_.front();
    waiting_.pop_front();
    --FamilyOf(waiting.pod).waiting;
    if (SettleBySuccessor(waiting.pod)) continue;  // its place is still empty
    // Without a revision there is nothing that could have shrunk.
    const PodRecord& pod = pods_[waiting.pod];
    Join(waiting.pod, pod.revision != 0 ? Departure::kScaleDown : Departure::kDeleted,
         pods_.Text(pod.revision), waiting.told);
  }
}

void Departures::Join(uint32_t slot, Departure departure, const std::string& to_revision,
                      BootTime told) {
  PodRecord& pod = pods_[slot];
  const Start start = StartOf(pod, departure, told, rules_);
  Family& family = FamilyOf(slot);
  pod.departure = static_cast<uint8_t>(departure);
  WorkloadRef workload = pods_.Workload(slot);
  if (workload.name.empty()) workload = {pods_.Text(pod.ns), "Pod", pods_.Ref(slot)->name};
  for (auto it = family.changes.rbegin(); it != family.changes.rend(); ++it) {
    Entry& entry = entries_.at(*it);
    WorkloadChange& change = entry.change;
    if (change.departure != departure || change.to_revision != to_revision ||
        change.workload != workload || change.superseded.is_set()) {
      continue;
    }
    const bool inside = start.second >= entry.first && start.second <= entry.last;
    if (!inside && Apart(start.second, entry.first) > kOneChange &&
        Apart(start.second, entry.last) > kOneChange) {
      continue;
    }
    change.pods.push_back(pod.handle);
    entry.last = std::max(entry.last, start.second);
    if (start.second < entry.first) {
      // News of the first departure came after that of a later one.
      entry.first = start.second;
      change.from_revision = pods_.Text(pod.revision);
      Name(entry);
    }
    change.started = std::min(change.started, start.likely);
    pod.change = *it;
    return;
  }

  if (departure == Departure::kRollout) {
    for (const uint32_t id : family.changes) {
      WorkloadChange& older = entries_.at(id).change;
      if (older.departure == Departure::kRollout && older.to_revision != to_revision &&
          !older.superseded.is_set()) {
        older.superseded = start.likely;
      }
    }
  }
  pod.change = ++last_id_;
  Entry& entry = entries_[pod.change];
  entry.first = entry.last = start.second;
  entry.change.workload = std::move(workload);
  entry.change.from_revision = pods_.Text(pod.revision);
  entry.change.to_revision = to_revision;
  entry.change.departure = departure;
  entry.change.started = start.likely;
  entry.change.pods.push_back(pod.handle);
  Name(entry);
  family.changes.push_back(pod.change);
}

void Departures::Name(Entry& entry) const {
  WorkloadChange& change = entry.change;
  change.name =
      fmt::format("{}/{}/{}/", change.workload.ns, change.workload.kind, change.workload.name);
  if (!change.to_revision.empty()) change.name += change.to_revision + "/";
  change.name += NameOf(change.departure);
  fmt::format_to(std::back_inserter(change.name), "{:%Y%m%dT%H%M%SZ}",
                 fmt::gmtime(static_cast<std::time_t>(entry.first.second())));
}

void Departures::Forget(uint32_t slot) {
  PodRecord& pod = pods_[slot];
  Uncount(slot);
  Family& family = FamilyOf(slot);
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.pod != slot) return false;
    --family.waiting;
    return true;
  });
  if (pod.change != 0) {
    const auto it = entries_.find(pod.change);
    std::erase(it->second.change.pods, pod.handle);
    if (it->second.change.pods.empty()) {
      std::erase(family.changes, pod.change);
      entries_.erase(it);
    }
  }
  if (family.revisions.empty() && family.changes.empty() && family.waiting == 0) {
    families_.erase(pods_.Workload(slot));
  }
}

const WorkloadChange* Departures::ChangeOf(uint32_t slot) const {
  const auto it = entries_.find(pods_[slot].change);
  return it == entries_.end() ? nullptr : &it->second.change;
}

std::vector<const WorkloadChange*> Departures::Changes() const {
  std::vector<const WorkloadChange*> changes;
  changes.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) changes.push_back(&entry.change);
  std::stable_sort(changes.begin(), changes.end(),
                   [](const WorkloadChange* a, const WorkloadChange* b) {
                     return std::pair(a->started, std::string_view(a->name)) <
                            std::pair(b->started, std::string_view(b->name));
                   });
  return changes;
}

}  // namespace phantomd
