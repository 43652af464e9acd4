#include "tests/world/deployer.h"

#include <algorithm>
#include <ctime>

#include "fmt/format.h"

namespace phantomd::world {
namespace {

std::string Stamp(WallTime t) {
  const std::time_t seconds = t.nanos() / 1'000'000'000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof(text), "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

// One pod at a time is replaced, in its place: an ordinal, or a node.
bool KeepsPlaces(const Workload& workload) {
  return workload.ref.kind == "StatefulSet" || workload.ref.kind == "DaemonSet";
}

uint32_t PlaceOf(const Pod& pod) {
  return static_cast<uint32_t>(std::stoul(pod.ref.name.substr(pod.ref.name.rfind('-') + 1)));
}

bool Serves(const Pod& pod) {
  return pod.exists && !pod.terminal() && !pod.deletion_requested.is_set() &&
         pod.stored.departure_reason.empty();
}

// Departures of one kind and target within a minute of the previous one are one change.
constexpr Nanos kOneChange = std::chrono::minutes(1);

}  // namespace

Deployer::Deployer(const Scenario& scenario, Agenda& agenda, Cluster& cluster, Random random)
    : scenario_(scenario), agenda_(agenda), cluster_(cluster), random_(std::move(random)) {
  cluster_.Watch(this);
}

void Deployer::MakeWorkloads() {
  static const char* const kNames[] = {"catalog", "billing", "search", "basket",
                                       "stock",   "mail",    "geo",    "prices"};
  static const char* const kKinds[] = {"Deployment", "Deployment", "StatefulSet", "Rollout",
                                       "DaemonSet"};
  for (uint32_t i = 0; i < scenario_.workloads; ++i) {
    Manners manners;
    manners.stops_after = scenario_.stops_after * random_.Uniform(0.3, 3);
    manners.grace = random_.Chance(0.3) ? 5 : 30;
    manners.closes_port_on_term = random_.Chance(scenario_.port_closers);
    Workload& workload =
        cluster_.AddWorkload({"shop", kKinds[i % 5], kNames[i % 8]}, manners, scenario_.replicas);
    cluster_.AddService(workload.ref.name, workload);
  }
  if (scenario_.jobs > 0) {
    Manners manners;
    manners.job = true;
    manners.ready_after = 0.3;
    manners.job_takes = 8;
    jobs_ = &cluster_.AddWorkload({"shop", "Job", "crunch"}, manners, 0);
    cluster_.AddService("crunch", *jobs_);
  }
  for (Workload& workload : cluster_.workloads()) Reconcile(workload);
}

void Deployer::Every(double per_minute, BootTime end, std::function<void()> action) {
  if (per_minute <= 0) return;
  const BootTime next = agenda_.now() + Span(random_.Exponential(60 / per_minute));
  if (next >= end) return;
  agenda_.At(next, [this, per_minute, end, action = std::move(action)] {
    action();
    Every(per_minute, end, action);
  });
}

void Deployer::Begin(BootTime end) {
  Every(scenario_.rollouts, end, [this] { Rollout(false); });
  Every(scenario_.broken_rollouts, end, [this] { Rollout(true); });
  Every(scenario_.scalings, end, [this] { Scale(); });
  Every(scenario_.jobs, end, [this] { RunJob(); });
  Every(scenario_.node_losses, std::min(end, agenda_.now() + Span(scenario_.node_losses_for)),
        [this] { LoseNode(); });
  Every(scenario_.deletions, end, [this] {
    if (Pod* pod = AnyRunning()) DeleteOne(*pod);
  });
  Every(scenario_.forced, end, [this] {
    Pod* pod = AnyRunning();
    if (pod == nullptr) return;
    const Change* change = ChangeByRevision(*pod);
    // Some nodes are slow to notice: the pod serves on, though the API knows it no more.
    cluster_.ForceDelete(
        *pod, change,
        random_.Chance(0.3) ? Span(random_.Uniform(5, 40)) : random_.Delay(0.1, 0.6, 1));
  });
  Every(scenario_.evictions, end, [this] {
    Pod* pod = AnyRunning();
    if (pod == nullptr || pod->stopping) return;
    cluster_.Evict(*pod, ChangeFor(*pod, Departure::kEviction, pod->ref.revision, agenda_.now(),
                                   cluster_.nodes()[pod->node].skew));
  });
  Every(scenario_.crashes, end, [this] {
    if (Pod* pod = AnyRunning()) {
      const double back_off = 5.0 * (1u << std::min(pod->restarts, 3u));
      cluster_.Crash(*pod, Span(pod->restarts == 0 ? random_.Uniform(0.5, 2) : back_off));
    }
  });
  Every(scenario_.flaps, end, [this] {
    if (Pod* pod = AnyRunning()) cluster_.Flap(*pod, Span(random_.Uniform(2, 20)));
  });
  Every(scenario_.moves, end, [this] {
    Service& service = random_.Any(cluster_.services());
    for (Pod& pod : cluster_.pods()) {
      if (pod.workload == service.selects && pod.ready && random_.Chance(0.3)) {
        cluster_.MoveBetweenSlices(service, pod, Span(random_.Uniform(0.005, 0.3)));
        return;
      }
    }
  });
}

Workload& Deployer::AnyServing() {
  for (;;) {
    Workload& workload = random_.Any(cluster_.workloads());
    if (!workload.manners.job) return workload;
  }
}

Pod* Deployer::AnyRunning() {
  std::vector<Pod*> candidates;
  for (Pod& pod : cluster_.pods()) {
    if (Serves(pod) && pod.ready && !pod.workload->manners.job && cluster_.nodes()[pod.node].up) {
      candidates.push_back(&pod);
    }
  }
  return candidates.empty() ? nullptr : random_.Any(candidates);
}

const Change* Deployer::ChangeFor(const Pod& pod, Departure departure, const std::string& target,
                                  BootTime at, Nanos clock) {
  // What came first decides: whoever deletes the pod of a lost node only cleans up.
  const bool lost_first = pod.deletion_requested.is_set()
                              ? pod.node_was_lost
                              : !cluster_.nodes()[pod.node].stored_ready;
  if (departure != Departure::kEviction && lost_first) {
    return ChangeFor(pod, Departure::kEviction, pod.ref.revision, at, clock);
  }
  for (auto it = changes_.rbegin(); it != changes_.rend(); ++it) {
    if (it->workload != pod.ref.workload) continue;
    if (it->departure == departure && it->target == target && at - it->last <= kOneChange) {
      it->last = at;
      return &*it;
    }
    // A rollout goes on until another target begins.
    if (departure == Departure::kRollout && it->departure == departure) break;
  }
  const std::string second = Stamp(ApiTime(at, clock));
  const WorkloadRef& w = pod.ref.workload;
  std::string name = fmt::format("{}/{}/{}/{}/", w.ns, w.kind, w.name, target);
  switch (departure) {
    case Departure::kScaleDown:
      name += "scale-down-";
      break;
    case Departure::kEviction:
      name += "eviction-";
      break;
    case Departure::kCompleted:
      name += "completed-";
      break;
    case Departure::kDeleted:
      name += "deleted-";
      break;
    default:
      break;
  }
  changes_.push_back({w, departure, target, name + second, at, at});
  return &changes_.back();
}

void Deployer::Delete(Pod& pod, Departure departure, const std::string& target) {
  const Change* change = ChangeFor(pod, departure, target, agenda_.now(), cluster_.api_skew());
  cluster_.RequestDeletion(pod, change, pod.workload->manners.grace);
}

const Change* Deployer::ChangeByRevision(const Pod& pod) {
  if (KeepsPlaces(*pod.workload)) return nullptr;
  const std::string& begun = begun_[pod.workload];
  const std::string& target = begun == pod.ref.revision ? pod.workload->revision : begun;
  const bool rolled = target != pod.ref.revision;
  return ChangeFor(pod, rolled ? Departure::kRollout : Departure::kDeleted, target, agenda_.now(),
                   cluster_.api_skew());
}

void Deployer::Succeed(const Pod& pod) {
  for (const Pod& other : cluster_.pods()) {
    if (other.workload != pod.workload || &other == &pod || other.departs_with != nullptr) continue;
    if (PlaceOf(other) != PlaceOf(pod) || !other.deletion_requested.is_set()) continue;
    const bool rolled = other.ref.revision != pod.ref.revision;
    cluster_.SetDeparture(
        other, ChangeFor(other, rolled ? Departure::kRollout : Departure::kDeleted,
                         pod.ref.revision, other.deletion_requested, cluster_.api_skew()));
  }
}

void Deployer::DeleteOne(Pod& pod) {
  cluster_.RequestDeletion(pod, ChangeByRevision(pod), pod.workload->manners.grace);
}

// The objects of pods that ended by themselves are cleaned up after a while.
void Deployer::Died(const Pod& pod) {
  const bool evicted = !pod.stored.departure_reason.empty();
  if (pod.deletion_requested.is_set() || !cluster_.nodes()[pod.node].up) return;
  if (!pod.workload->manners.job && !evicted) return;
  if (!evicted) {
    cluster_.SetDeparture(pod, ChangeFor(pod, Departure::kCompleted, pod.ref.revision,
                                         agenda_.now(), cluster_.nodes()[pod.node].skew));
  }
  for (Pod& own : cluster_.pods()) {
    if (&own != &pod) continue;
    agenda_.In(Span(random_.Uniform(10, 30)),
               [this, &own] { cluster_.RequestDeletion(own, nullptr, 0); });
  }
}

Pod& Deployer::Create(Workload& workload, const std::string& name) {
  std::vector<uint32_t> up;
  for (uint32_t i = 0; i < cluster_.nodes().size(); ++i) {
    if (cluster_.nodes()[i].up) up.push_back(i);
  }
  WorkloadRef owner = workload.ref;
  if (workload.manners.job) owner.name = name;  // each Job is a workload of its own
  return cluster_.CreatePod(workload, owner, name, random_.Any(up));
}

// --- Controllers ---

void Deployer::Reconcile(Workload& workload) {
  agenda_.In(Span(random_.Uniform(0.2, 0.5)), [this, &workload] { Reconcile(workload); });
  if (workload.manners.job) return;
  std::vector<Pod*> pods;
  for (Pod& pod : cluster_.pods()) {
    if (pod.workload == &workload && Serves(pod)) pods.push_back(&pod);
  }
  const bool begun = std::any_of(pods.begin(), pods.end(), [&](const Pod* pod) {
    return pod->ref.revision == workload.revision;
  });
  if (begun) begun_[&workload] = workload.revision;
  if (KeepsPlaces(workload)) {
    RollInPlace(workload, pods);
  } else {
    RollDeployment(workload, pods);
  }
}

void Deployer::Replenish(Workload& workload, uint32_t missing) {
  for (uint32_t i = 0; i < missing; ++i) {
    Create(workload, fmt::format("{}-{}", workload.revision, ++names_));
  }
}

// One more than wanted at a time, and never fewer that are ready.
void Deployer::RollDeployment(Workload& workload, const std::vector<Pod*>& pods) {
  std::vector<Pod*> old, current;
  uint32_t ready = 0;
  for (Pod* pod : pods) {
    (pod->ref.revision == workload.revision ? current : old).push_back(pod);
    ready += pod->stored.ready;
  }
  for (uint32_t i = workload.replicas; i < current.size(); ++i) {
    Delete(*current[i], Departure::kScaleDown, workload.revision);
  }
  const uint32_t most = workload.replicas + 1;
  if (current.size() < workload.replicas && pods.size() < most) {
    Replenish(workload, 1);
  }
  // Those that are not ready cost nothing.
  for (Pod* pod : old) {
    if (!pod->stored.ready && current.size() > 0) DeleteOne(*pod);
  }
  for (Pod* pod : old) {
    if (!pod->stored.ready || ready <= workload.replicas) continue;
    DeleteOne(*pod);
    --ready;
  }
}

// One pod at a time: it goes, then its successor comes under the same name.
void Deployer::RollInPlace(Workload& workload, const std::vector<Pod*>& pods) {
  std::vector<bool> there(workload.replicas);
  bool all_ready = true;
  for (const Pod& pod : cluster_.pods()) {
    if (pod.workload != &workload || !pod.exists) continue;
    if (PlaceOf(pod) < workload.replicas) there[PlaceOf(pod)] = true;
    all_ready = all_ready && pod.stored.ready && Serves(pod);
  }
  for (uint32_t i = 0; i < workload.replicas; ++i) {
    if (there[i]) continue;
    // A DaemonSet's pods have other names, and each its node.
    const bool by_node = workload.ref.kind == "DaemonSet";
    if (by_node && !cluster_.nodes()[i % cluster_.nodes().size()].up) continue;
    Succeed(by_node ? cluster_.CreatePod(workload, workload.ref,
                                         fmt::format("{}-{}x-{}", workload.ref.name, ++names_, i),
                                         i % static_cast<uint32_t>(cluster_.nodes().size()))
                    : Create(workload, fmt::format("{}-{}", workload.ref.name, i)));
    all_ready = false;
  }
  for (Pod* pod : pods) {
    if (PlaceOf(*pod) >= workload.replicas) {
      Delete(*pod, Departure::kScaleDown, pod->ref.revision);
      return;
    }
  }
  for (Pod* pod : pods) {
    if (pod->ref.revision == workload.revision) continue;
    // A broken one need not be waited for.
    if (!all_ready && pod->stored.ready) continue;
    DeleteOne(*pod);
    return;
  }
}

// --- What people do ---

Workload* Deployer::AnyAtRest(const std::map<const Workload*, BootTime>& since) {
  for (int tries = 0; tries < 20; ++tries) {
    Workload& workload = AnyServing();
    const auto it = since.find(&workload);
    if (it == since.end() || agenda_.now() - it->second > kOneChange + Span(30)) return &workload;
  }
  return nullptr;
}

void Deployer::Rollout(bool broken) {
  Workload* chosen = AnyAtRest(scaled_);
  if (chosen == nullptr) return;
  Workload& workload = *chosen;
  rolled_[chosen] = agenda_.now();
  const std::string before = workload.revision;
  workload.revision = fmt::format("{}-r{}", workload.ref.name, ++workload.revisions);
  if (!broken) return;
  workload.broken_revision = workload.revision;
  const std::string bad = workload.revision;
  agenda_.In(Span(random_.Uniform(8, 25)), [&workload, before, bad] {
    if (workload.revision == bad) workload.revision = before;
  });
}

void Deployer::Scale() {
  Workload* chosen = AnyAtRest(rolled_);
  const auto scaled = scaled_.find(chosen);
  if (scaled != scaled_.end() && agenda_.now() - scaled->second < kOneChange + Span(30)) return;
  if (chosen == nullptr || chosen->ref.kind == "DaemonSet") return;
  Workload& workload = *chosen;
  scaled_[chosen] = agenda_.now();
  const uint32_t before = workload.replicas;
  workload.replicas = before > scenario_.replicas ? before - 1
                      : random_.Chance(0.6)       ? std::max(2u, before - 1)
                                                  : before + 2;
}

void Deployer::RunJob() {
  jobs_->revision = "";
  Create(*jobs_, fmt::format("crunch-{}", ++names_));
}

void Deployer::LoseNode() {
  std::vector<uint32_t> up;
  for (uint32_t i = 1; i < cluster_.nodes().size(); ++i) {  // never the own node
    if (cluster_.nodes()[i].up) up.push_back(i);
  }
  if (up.size() < 3) return;
  Node& node = cluster_.nodes()[random_.Any(up)];
  const auto index = static_cast<uint32_t>(&node - cluster_.nodes().data());
  node.lease_renewed = agenda_.now() - Span(random_.Uniform(0, 10));
  cluster_.LoseNode(node);
  const auto each = [this, index](auto&& action) {
    for (Pod& pod : cluster_.pods()) {
      if (pod.node == index && pod.exists && pod.acquired.is_set()) action(pod);
    }
  };
  const BootTime noticed = node.lease_renewed + Span(40) + random_.Delay(1, 0.7, 5);
  agenda_.At(noticed, [this, &node, each] {
    cluster_.StoreNode(node, false, false);
    each([&](Pod& pod) {
      if (!pod.terminal()) cluster_.SetStoredReady(pod, false);
    });
  });
  agenda_.At(noticed + Span(random_.Uniform(10, 30)), [this, each] {
    each([&](Pod& pod) {
      const Change* change = ChangeFor(pod, Departure::kEviction, pod.ref.revision, agenda_.now(),
                                       cluster_.api_skew());
      cluster_.RequestDeletion(pod, change, 30);
    });
  });
  if (random_.Chance(0.5)) return;
  agenda_.At(noticed + Span(random_.Uniform(35, 50)), [this, &node, each] {
    cluster_.StoreNode(node, false, true);
    each([&](Pod& pod) { cluster_.ForceDelete(pod, nullptr, Span(1)); });
  });
}

}  // namespace phantomd::world
