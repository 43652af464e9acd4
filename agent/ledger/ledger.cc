#include "agent/ledger/ledger.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "agent/ledger/change_windows.h"
#include "agent/ledger/connection_ring.h"
#include "agent/ledger/metric_counters.h"
#include "agent/ledger/pod_tally.h"

namespace phantomd {
namespace {

// A pod that leaves within a minute of the previous one belongs to the same change, and it may take
// another minute until that is settled: after both, no pod joins any more.
constexpr Nanos kQuiet = std::chrono::minutes(2);

bool TellsOfDeparture(DestinationClass destination) {
  return destination == DestinationClass::kWithdrawn || IsPhantom(destination);
}

// An attempt that tells of a departed pod although nothing bad came of it.
bool BehindDeparture(const Attempt& attempt, const Verdict& verdict, const Lifecycle& lifecycle) {
  if (TellsOfDeparture(verdict.destination)) return true;
  if (verdict.withdrawn.is_set()) return true;
  return lifecycle.ReleasedBounds(verdict.last_holder).not_after <= attempt.started;
}

// Unset: not finished by `now`.
BootTime FinishedAt(const WorkloadChange& change, const std::vector<DepartedPod>& departed,
                    const std::vector<WindowFigures>& windows, BootTime now) {
  if (departed.empty() || departed.size() < change.pods.size()) return BootTime();
  BootTime finished = BootTime::Min();
  for (const DepartedPod& pod : departed) {
    if (pod.released.not_after > now) return BootTime();
    finished = std::max(finished, Middle(pod.released));
  }
  for (const WindowFigures& window : windows) {
    if (!window.closed.is_set() || window.closed > now) return BootTime();
    finished = std::max(finished, window.closed);
  }
  return finished;
}

SourceLabels LabelsOf(const Proxy* proxy) {
  if (proxy == nullptr) return {};
  return {proxy->pod.ns, proxy->pod.workload.name, proxy->pod.name};
}

bool Named(const SourceLabels& labels, const Proxy* proxy) {
  if (proxy == nullptr) return labels == SourceLabels{};
  return labels.pod == proxy->pod.name && labels.workload == proxy->pod.workload.name &&
         labels.ns == proxy->pod.ns;
}

}  // namespace

class Ledger::Impl {
 public:
  explicit Impl(const Options& options)
      : options_(options), ring_(options.ring), counters_(options.max_cells) {}

  struct OfProxy {
    ProxyFigures figures;
    SourceLabels labels;
    MetricCounters::Source* source = nullptr;
    bool known = false;  // the engine knew the proxy
    BootTime gone;       // unset: it runs
    BootTime last;       // the last time something was counted for it
  };

  OfProxy& Find(const ProxyId& id, const Proxy* proxy) {
    OfProxy& found = proxies_[id];
    if (found.source == nullptr || !Named(found.labels, proxy)) Relabel(found, LabelsOf(proxy));
    found.known |= proxy != nullptr;
    return found;
  }

  // A pod is named once the Kubernetes feed has told of it: what was counted before stays with the
  // labels it was counted under.
  void Relabel(OfProxy& proxy, SourceLabels labels) {
    if (proxy.source != nullptr) Release(proxy.labels);
    proxy.labels = std::move(labels);
    proxy.source = counters_.AddSource(proxy.labels);
    ++users_[proxy.labels];
  }

  // The series of a pod belong to all incarnations of its proxy; the last one takes them away.
  void Release(const SourceLabels& labels) {
    const auto found = users_.find(labels);
    if (--found->second > 0) return;
    users_.erase(found);
    counters_.Expire(labels);
  }

  void Keep(const Attempt& attempt, const Proxy* proxy, const Verdict& verdict,
            const Lifecycle& lifecycle, const SourceLabels& source, BootTime now) {
    auto connection =
        std::make_shared<Connection>(ConnectionOf(attempt, proxy, verdict, lifecycle, now));
    connection->sequence = ++sequence_;
    DestinationLabels destination;
    if (const PodRef* pod = lifecycle.Pod(verdict.last_holder)) {
      destination = {pod->ns, pod->workload.name, pod->revision};
    }
    counters_.CountConnection({source, std::move(destination), verdict.destination,
                               verdict.certainty, verdict.cause, attempt.outcome, verdict.layer, 0},
                              connection->duration, now);
    ring_.Add(std::move(connection));
  }

  PodTally Sum(const WorkloadChange& change) const {
    PodTally sum;
    for (const PodHandle pod : change.pods) {
      if (const auto found = pods_.find(pod); found != pods_.end()) sum.Add(found->second);
    }
    return sum;
  }

  // A change whose windows are all final, as they were.
  struct Settled {
    size_t pods = 0;  // the windows are those of so many pods: one more opens the change again
    std::vector<WindowFigures> windows;
    BootTime finished;
  };
  struct OfChange {
    std::set<ProxyId> observed;  // in the window histogram
    std::optional<Settled> settled;
  };

  std::vector<OneWindow> Windows(const std::vector<DepartedPod>& departed, const PodTally& sum,
                                 const Lifecycle& lifecycle, const Belief& belief) const {
    std::set<ProxyId> ids = local_;
    for (const auto& [id, of_proxy] : sum.proxies) ids.insert(id);
    std::vector<OneWindow> windows;
    for (const ProxyId& id : ids) {
      const auto known = proxies_.find(id);
      const BootTime gone = known == proxies_.end() ? BootTime() : known->second.gone;
      OneWindow window = WindowOf(id, departed, sum, lifecycle, belief, gone);
      if (window.exists) windows.push_back(std::move(window));
    }
    return windows;
  }

  void Settle(const WorkloadChange& change, const Lifecycle& lifecycle, const Belief& belief,
              BootTime now) {
    OfChange& state = changes_[change.name];
    if (state.settled && state.settled->pods == change.pods.size()) return;
    state.settled.reset();
    const std::vector<DepartedPod> departed = DepartedPods(change, lifecycle, now);
    if (departed.size() < change.pods.size()) return;
    BootTime last_left = BootTime::Min();
    bool all_dead = true;
    for (const DepartedPod& pod : departed) {
      last_left = std::max(last_left, pod.left.not_after);
      all_dead &= pod.released.not_after <= now;
    }
    const bool final = change.superseded.is_set() || all_dead;
    if (!final || now < last_left + kQuiet) return;
    bool all_closed = true;
    std::vector<WindowFigures> windows;
    for (const OneWindow& window : Windows(departed, Sum(change), lifecycle, belief)) {
      windows.push_back(window.figures);
      all_closed &= window.figures.closed.is_set();
      if (!window.believed || !window.figures.closed.is_set()) continue;
      if (!state.observed.insert(window.figures.proxy).second) continue;
      counters_.ObserveWindow(change.workload.ns, change.workload.name,
                              window.figures.closed - window.figures.opened, now);
    }
    if (!all_closed) return;
    const BootTime finished = FinishedAt(change, departed, windows, now);
    state.settled = Settled{change.pods.size(), std::move(windows), finished};
  }

  const Settled* SettledOf(const WorkloadChange& change) const {
    const auto state = changes_.find(change.name);
    if (state == changes_.end() || !state->second.settled) return nullptr;
    return state->second.settled->pods == change.pods.size() ? &*state->second.settled : nullptr;
  }

  std::vector<WindowFigures> WindowsToTell(const WorkloadChange& change,
                                           const std::vector<DepartedPod>& departed,
                                           const PodTally& sum, const Lifecycle& lifecycle,
                                           const Belief& belief) const {
    std::vector<WindowFigures> windows;
    const Settled* settled = SettledOf(change);
    if (settled == nullptr) {
      for (OneWindow& window : Windows(departed, sum, lifecycle, belief)) {
        windows.push_back(std::move(window.figures));
      }
      return windows;
    }
    // The ends stand; attempts that were under way may still be counted.
    windows = settled->windows;
    for (const auto& [id, of_proxy] : sum.proxies) {
      auto window = std::find_if(windows.begin(), windows.end(),
                                 [&, id = id](const auto& w) { return w.proxy == id; });
      if (window == windows.end()) {
        window = windows.insert(windows.end(), WindowFigures{});
        window->proxy = id;
        window->opened = window->closed = of_proxy.last;
      }
      window->attempts = of_proxy.attempts;
      window->phantoms = of_proxy.phantoms;
      window->last_connection = of_proxy.last;
    }
    return windows;
  }

  void ForgetUnknown(const Lifecycle& lifecycle, BootTime now) {
    absl::erase_if(pods_, [&](const auto& entry) { return lifecycle.Pod(entry.first) == nullptr; });
    std::set<std::string_view> remembered;
    for (const WorkloadChange* change : lifecycle.Changes(now)) remembered.insert(change->name);
    std::erase_if(changes_, [&](const auto& entry) { return !remembered.contains(entry.first); });
  }

  const Options options_;
  uint64_t attempts_ = 0;
  std::map<DestinationClass, uint64_t> by_class_;
  std::map<Initiator, uint64_t> not_judged_;
  uint64_t sequence_ = 0;
  ConnectionRing ring_;
  MetricCounters counters_;
  absl::flat_hash_map<ProxyId, OfProxy> proxies_;
  std::map<SourceLabels, int> users_;  // proxies under the same labels
  absl::flat_hash_map<PodHandle, PodTally> pods_;
  std::map<std::string, OfChange> changes_;  // by name
  std::set<ProxyId> local_;
  bool forget_ = false;  // the horizon has moved: drop what the lifecycle has forgotten
};

Ledger::Ledger(Options options) : impl_(std::make_unique<Impl>(options)) {}
Ledger::~Ledger() = default;

void Ledger::Count(const Attempt& attempt, const Proxy* proxy, const Verdict& verdict,
                   const Lifecycle& lifecycle, BootTime now) {
  Impl& impl = *impl_;
  const ProxyId& id = proxy != nullptr ? proxy->id : attempt.proxy_id;
  ++impl.attempts_;
  ++impl.by_class_[verdict.destination];
  Impl::OfProxy& of_proxy = impl.Find(id, proxy);
  of_proxy.last = now;
  ++of_proxy.figures.attempts;
  ++of_proxy.figures.by_class[verdict.destination];
  impl.counters_.CountAttempt(*of_proxy.source, attempt.initiator, verdict.destination,
                              attempt.outcome);
  if (verdict.last_holder != PodHandle::kNone && BehindDeparture(attempt, verdict, lifecycle)) {
    impl.pods_[verdict.last_holder].Count(attempt, id, verdict);
  }
  if (TellsOfDeparture(verdict.destination)) {
    impl.Keep(attempt, proxy, verdict, lifecycle, of_proxy.labels, now);
  }
}

void Ledger::CountNotJudged(const Attempt& attempt) { ++impl_->not_judged_[attempt.initiator]; }

void Ledger::CountStranded(const ConnectionEnd& end, PodHandle pod) {
  if (pod != PodHandle::kNone) ++impl_->pods_[pod].stranded_by_end[end.how];
}

void Ledger::ProxyGone(const ProxyId& proxy, BootTime when) {
  const auto found = impl_->proxies_.find(proxy);
  if (found != impl_->proxies_.end()) found->second.gone = when;
}

void Ledger::UpdateWindows(const Lifecycle& lifecycle, const Belief& belief,
                           const std::vector<ProxyId>& proxies, BootTime now) {
  impl_->local_ = {proxies.begin(), proxies.end()};
  if (std::exchange(impl_->forget_, false)) impl_->ForgetUnknown(lifecycle, now);
  for (const WorkloadChange* change : lifecycle.Changes(now)) {
    impl_->Settle(*change, lifecycle, belief, now);
  }
}

void Ledger::Compact(BootTime horizon, BootTime now) {
  Impl& impl = *impl_;
  for (auto at = impl.proxies_.begin(); at != impl.proxies_.end();) {
    const Impl::OfProxy& proxy = at->second;
    const bool gone = proxy.gone.is_set() && proxy.gone + impl.options_.gone_memory <= now;
    // Nobody tells the end of what was never known as a proxy.
    const bool forgotten = !proxy.known && proxy.last < horizon;
    if (!gone && !forgotten) {
      ++at;
      continue;
    }
    impl.Release(proxy.labels);
    impl.proxies_.erase(at++);
  }
  impl.counters_.Compact(horizon);
  impl.forget_ = true;
}

ChangeFigures Ledger::FiguresOf(const WorkloadChange& change, const Lifecycle& lifecycle,
                                const Belief& belief, BootTime now) const {
  const std::vector<DepartedPod> departed = DepartedPods(change, lifecycle, now);
  const PodTally sum = impl_->Sum(change);
  ChangeFigures figures = sum.Figures();
  figures.windows = impl_->WindowsToTell(change, departed, sum, lifecycle, belief);
  SortWindows(figures.windows);

  std::vector<Nanos> lengths;
  for (const WindowFigures& window : figures.windows) lengths.push_back(LengthOf(window, now));
  if (!lengths.empty()) {
    std::sort(lengths.begin(), lengths.end());
    figures.window_p50 = lengths[(lengths.size() - 1) / 2];
    figures.window_max = lengths.back();
  }
  const Impl::Settled* settled = impl_->SettledOf(change);
  figures.finished = settled != nullptr && settled->finished.is_set()
                         ? settled->finished
                         : FinishedAt(change, departed, figures.windows, now);
  return figures;
}

ProxyFigures Ledger::FiguresOf(const ProxyId& proxy) const {
  const auto found = impl_->proxies_.find(proxy);
  return found == impl_->proxies_.end() ? ProxyFigures{} : found->second.figures;
}

uint64_t Ledger::attempts() const { return impl_->attempts_; }
const std::map<DestinationClass, uint64_t>& Ledger::by_class() const { return impl_->by_class_; }
const std::map<Initiator, uint64_t>& Ledger::not_judged() const { return impl_->not_judged_; }
uint64_t Ledger::dropped() const { return impl_->ring_.dropped(); }
ConnectionChunks Ledger::Connections() const { return impl_->ring_.Chunks(); }
MetricCells Ledger::Cells() const { return impl_->counters_.Cells(); }

}  // namespace phantomd
