#include "tests/lifecycle/world.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <type_traits>

#include "fmt/format.h"

namespace phantomd::testing {
namespace {

constexpr Nanos Seconds(double s) { return Nanos(static_cast<int64_t>(s * 1e9)); }

std::string KeyOf(const PodChange& pod) { return pod.pod.uid.value(); }
std::string KeyOf(const SliceChange& slice) { return slice.name; }

}  // namespace

World::World(uint64_t seed, bool gaps) : random_(seed) {
  api_clock_ = Seconds(Uniform(-0.4, 0.4));
  for (uint8_t i = 1; i <= 5; ++i) ips_.push_back(IpAddr::V4(10, 0, 0, i));
  end_ = BootTime::FromNanos(Seconds(400).count());
  int number = 0;
  for (const IpAddr& ip : ips_) {
    BootTime born = Later(BootTime::FromNanos(Seconds(20).count()), 0, 30);
    while (born < end_) {
      BootTime dead;
      LivePod(++number, born, ip, &dead);
      // The address may be given again at once; the object is created before its sandbox is.
      born = Later(dead, 0.01, Uniform(0, 1) < 0.6 ? 1.5 : 30);
    }
  }
  Deliver(gaps);
}

double World::Uniform(double low, double high) {
  return std::uniform_real_distribution<double>(low, high)(random_);
}

BootTime World::Later(BootTime t, double low, double high) {
  return t + Seconds(Uniform(low, high));
}

WallTime World::Stamp(BootTime t, Nanos clock) const {
  const int64_t second = (t + clock).nanos() / 1'000'000'000;
  return WallTime::FromNanos(second * 1'000'000'000);
}

// `born`: when its sandbox gets the address.
void World::LivePod(int number, BootTime born, const IpAddr& ip, BootTime* dead) {
  const Nanos node_clock = Seconds(Uniform(-0.4, 0.4));
  PodChange pod;
  pod.pod = {.uid = PodUid(fmt::format("pod-{:04}", number)),
             .ns = "shop",
             .name = fmt::format("web-{:04}", number),
             .workload = {"shop", "Deployment", "web"},
             .revision = "r1",
             .node_name = "n1"};
  const std::string uid = pod.pod.uid.value();
  const auto say = [&](BootTime at) { events_.push_back({at, pod}); };

  const BootTime created = born - Seconds(Uniform(0.05, 3));
  pod.created = Stamp(created, api_clock_);
  pod.phase = PodPhase::kPending;
  say(created);
  const BootTime shown = Later(born, 0.02, 0.1);
  pod.ips = {ip};
  pod.phase = PodPhase::kRunning;
  say(shown);

  BootTime leaves = Later(shown, 0.5, Uniform(0, 1) < 0.2 ? 2 : 60);
  if (leaves - shown > Seconds(10) && Uniform(0, 1) < 0.2) {  // a crash, and a new start
    const BootTime crash = Later(shown, 2, 4);
    pod.containers_finished = Stamp(crash, node_clock);
    say(Later(crash, 0.02, 0.1));
    pod.containers_finished = WallTime();
    say(Later(crash, 1, 3));
  }
  const Exit exit = static_cast<Exit>(std::uniform_int_distribution<int>(0, 5)(random_));
  BootTime terminating = BootTime::Max();  // slices say so, or drop it
  BootTime removed;
  switch (exit) {
    case Exit::kRolled:
    case Exit::kRolledWithoutPhase: {
      pod.deletion_requested = Stamp(leaves, api_clock_);
      say(leaves);
      withdrawn_[uid].push_back({leaves, true});
      terminating = Later(leaves, 0.01, 0.05);
      *dead = Later(leaves, 0.1, 5);
      pod.containers_finished = Stamp(*dead, node_clock);
      if (exit == Exit::kRolled) pod.phase = PodPhase::kSucceeded;
      const BootTime reported = Later(*dead, 0.02, 0.1);
      say(reported);
      removed = Later(reported, 0.01, 0.2);
      pod.deleted = true;
      say(Later(reported, 0.01, 2));
      break;
    }
    case Exit::kForced:
      pod.deletion_requested = Stamp(leaves, api_clock_);
      pod.deleted = true;
      say(leaves);
      withdrawn_[uid].push_back({leaves, true});
      removed = Later(leaves, 0.01, 0.2);
      *dead = Later(leaves, 0.2, 20);
      break;
    case Exit::kFailed:
    case Exit::kFailedSilently:
    case Exit::kCompleted: {
      *dead = leaves;
      pod.phase = exit == Exit::kCompleted ? PodPhase::kSucceeded : PodPhase::kFailed;
      if (exit != Exit::kFailedSilently) pod.containers_finished = Stamp(*dead, node_clock);
      const BootTime reported = Later(*dead, 0.02, 0.1);
      say(reported);
      removed = Later(reported, 0.01, 0.2);
      if (Uniform(0, 1) < 0.5) {
        const BootTime deleted = Later(reported, 5, 40);
        pod.deletion_requested = Stamp(deleted, api_clock_);
        withdrawn_[uid].push_back({deleted, true});
        pod.deleted = true;
        say(deleted);
      }
      break;
    }
  }
  lives_.push_back({uid, ip, born, *dead});
  Serve(uid, ip, Later(shown, 0.01, 0.3), terminating, removed);
}

// What its slices say of it: one slice per endpoint keeps the world simple, the rules see the same.
void World::Serve(const std::string& uid, const IpAddr& ip, BootTime from, BootTime terminating,
                  BootTime removed) {
  if (from >= std::min(terminating, removed)) return;  // gone before a slice listed it
  const auto say = [&](BootTime at, int slice, int state, bool slow = true) {
    SliceChange change;
    change.ns = "shop";
    change.name = fmt::format("web-{}-{}", uid, slice);
    change.service = "web";
    if (state >= 0) {
      change.endpoints.push_back({.addresses = {ip},
                                  .ready = state == 0,
                                  .serving = state != 1,
                                  .terminating = state == 2,
                                  .pod_uid = PodUid(uid)});
    } else {
      change.deleted = true;
    }
    events_.push_back({at, change, slow});
  };
  std::vector<std::pair<BootTime, bool>>& truth = withdrawn_[uid];
  say(from, 0, 0);
  BootTime last = from;
  const BootTime leaves = std::min(terminating, removed);
  int slice = 0;
  if (leaves - from > Seconds(12)) {
    if (Uniform(0, 1) < 0.3) {  // its probe fails for a while
      const BootTime out = Later(from, 3, 4);
      last = Later(out, 0.1, 3);
      say(out, 0, 1);
      say(last, 0, 0);
      truth.push_back({out, true});
      truth.push_back({last, false});
    } else if (Uniform(0, 1) < 0.4) {  // the controller packs it into another slice
      const BootTime moved = Later(from, 3, 6);
      say(moved, 0, -1, false);
      say(Later(moved, 0.01, 0.5), 1, 0, false);
      slice = 1;
    }
  }
  if (terminating != BootTime::Max()) say(terminating, slice, 2);
  say(removed, slice, -1);
  truth.push_back({leaves, true});
}

std::string World::HolderAt(const IpAddr& ip, BootTime t) const {
  for (const Life& life : lives_) {
    if (life.ip == ip && t >= life.from && t < life.to) return life.uid;
  }
  return "";
}

bool World::WithdrawnAt(const std::string& uid, BootTime t) const {
  const auto it = withdrawn_.find(uid);
  if (it == withdrawn_.end()) return false;
  std::vector<std::pair<BootTime, bool>> changes = it->second;
  std::sort(changes.begin(), changes.end());
  bool withdrawn = false;
  for (const auto& [at, state] : changes) {
    if (at <= t) withdrawn = state;
  }
  return withdrawn;
}

BootTime World::DeletedAt(const std::string& uid) const {
  for (const Event& event : events_) {
    const PodChange* pod = std::get_if<PodChange>(&event.state);
    if (pod != nullptr && pod->deleted && pod->pod.uid.value() == uid) return event.at;
  }
  return BootTime::Max();
}

template <typename Change>
void World::DeliverFeed(Feed feed, bool gaps, std::string (*key)(const Change&)) {
  const BootTime synced = BootTime::FromNanos(Seconds(10).count());
  news_.push_back({synced, FeedChange{feed, FeedState::kSynced}});
  std::vector<std::tuple<BootTime, Change, bool>> events;
  for (const Event& event : events_) {
    if (const Change* state = std::get_if<Change>(&event.state)) {
      events.emplace_back(event.at, *state, event.slow);
    }
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const auto& a, const auto& b) { return std::get<0>(a) < std::get<0>(b); });

  std::vector<std::pair<BootTime, BootTime>> broken;  // [last alive, list complete]
  if (gaps) {
    for (BootTime at = Later(synced, 40, 90); at < end_; at = Later(at, 60, 120)) {
      broken.emplace_back(at, Later(at, 0.5, 20));
    }
  }
  std::map<std::string, Change> in_api;  // as the server has it
  std::map<std::string, Change> known;   // as the agent was told
  BootTime last = synced;
  size_t next_gap = 0;
  const auto list = [&](size_t until) {
    const auto [alive, complete] = broken[next_gap];
    for (size_t i = 0; i < until; ++i) {
      if (std::get<0>(events[i]) > complete) break;
      const Change& state = std::get<1>(events[i]);
      if (state.deleted) {
        in_api.erase(key(state));
      } else {
        in_api[key(state)] = state;
      }
    }
    const Nanos step(1);
    last = std::max(last, complete);
    news_.push_back(
        {std::min(alive + Seconds(1), complete), FeedChange{feed, FeedState::kBroken, alive}});
    for (const auto& [name, state] : std::map(known)) {
      if (in_api.contains(name)) continue;
      Change gone = state;
      gone.deleted = true;
      gone.not_before = alive;
      news_.push_back({last += step, gone});
      known.erase(name);
    }
    for (const auto& [name, state] : in_api) {
      news_.push_back({last += step, state});
      known[name] = state;
    }
    news_.push_back({last += step, FeedChange{feed, FeedState::kSynced}});
    ++next_gap;
  };
  for (size_t i = 0; i < events.size(); ++i) {
    const auto& [at, state, slow] = events[i];
    const BootTime observed =
        std::max(last + Nanos(1),
                 at + Seconds(slow ? Uniform(0.005, Uniform(0, 1) < 0.9 ? 0.3 : 1.8) : 0.005));
    while (next_gap < broken.size() && at > broken[next_gap].second) list(i);
    // What would arrive in a gap does not arrive; its list tells the outcome.
    if (next_gap < broken.size() && observed > broken[next_gap].first) continue;
    if (state.deleted && !known.contains(key(state))) continue;
    last = observed;
    news_.push_back({observed, state});
    if (state.deleted) {
      known.erase(key(state));
    } else {
      known[key(state)] = state;
    }
  }
  while (next_gap < broken.size()) list(events.size());
}

void World::Deliver(bool gaps) {
  DeliverFeed<PodChange>(Feed::kPods, gaps, KeyOf);
  DeliverFeed<SliceChange>(Feed::kSlices, gaps, KeyOf);
  news_.push_back(
      {BootTime::FromNanos(Seconds(10).count()), FeedChange{Feed::kNodes, FeedState::kSynced}});
  std::stable_sort(news_.begin(), news_.end(),
                   [](const News& a, const News& b) { return a.observed < b.observed; });
}

}  // namespace phantomd::testing
