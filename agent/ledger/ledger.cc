#include "agent/ledger/ledger.h"

#include <algorithm>
#include <utility>

#include "agent/ledger/ledger_impl.h"

namespace phantomd {
namespace {

// The kernel gives a silent connection up after a quarter of an hour (tcp_retries2 of 15: 924.6 s);
// no other end of it is awaited after twice that.
constexpr Nanos kStallMemory = std::chrono::minutes(30);

// An attempt that tells of a departed pod although nothing bad came of it.
bool BehindDeparture(const Attempt& attempt, const Verdict& verdict, const Lifecycle& lifecycle) {
  if (TellsOfDeparture(verdict.destination)) return true;
  if (verdict.withdrawn.is_set()) return true;
  return lifecycle.ReleasedBounds(verdict.last_holder).not_after <= attempt.started;
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

Ledger::Impl::OfProxy& Ledger::Impl::Find(const ProxyId& id, const Proxy* proxy) {
  OfProxy& found = proxies_[id];
  if (found.source == nullptr || !Named(found.labels, proxy)) Relabel(found, LabelsOf(proxy));
  found.known |= proxy != nullptr;
  return found;
}

// A pod is named once the Kubernetes feed has told of it: what was counted before stays with the
// labels it was counted under.
void Ledger::Impl::Relabel(OfProxy& proxy, SourceLabels labels) {
  if (proxy.source != nullptr) Release(proxy.labels);
  proxy.labels = std::move(labels);
  proxy.source = counters_.AddSource(proxy.labels);
  ++users_[proxy.labels];
}

// The series of a pod belong to all incarnations of its proxy; the last one takes them away.
void Ledger::Impl::Release(const SourceLabels& labels) {
  const auto found = users_.find(labels);
  if (--found->second > 0) return;
  users_.erase(found);
  counters_.Expire(labels);
}

void Ledger::Impl::Keep(const Attempt& attempt, const Proxy* proxy, const Verdict& verdict,
                        const Lifecycle& lifecycle, const SourceLabels& source, BootTime now) {
  auto connection =
      std::make_shared<Connection>(ConnectionOf(attempt, proxy, verdict, lifecycle, now));
  connection->sequence = ++sequence_;
  DestinationLabels destination;
  if (const PodRef* pod = lifecycle.Pod(verdict.last_holder)) {
    destination = {pod->ns, pod->workload.name, pod->revision};
  }
  counters_.CountConnection({source, std::move(destination), verdict.destination, verdict.certainty,
                             verdict.cause, attempt.outcome, verdict.layer, 0},
                            connection->duration, now);
  ring_.Add(std::move(connection));
}

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

void Ledger::CountStranded(const ConnectionEnd& end, PodHandle pod, Nanos after) {
  if (pod != PodHandle::kNone) impl_->pods_[pod].CountStranded(end, after);
}

void Ledger::ProxyGone(const ProxyId& proxy, BootTime when) {
  const auto found = impl_->proxies_.find(proxy);
  if (found != impl_->proxies_.end()) found->second.gone = when;
}

void Ledger::ProxyReturned(const ProxyId& proxy) {
  const auto found = impl_->proxies_.find(proxy);
  if (found != impl_->proxies_.end()) found->second.gone = BootTime();
}

void Ledger::UpdateWindows(const Lifecycle& lifecycle, const Belief& belief, BootTime now) {
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
  for (auto& [pod, tally] : impl.pods_) tally.SettleStalls(now - kStallMemory);
  impl.counters_.Compact(horizon);
  impl.forget_ = true;
}

ChangeFigures Ledger::FiguresOf(const WorkloadChange& change, const Lifecycle& lifecycle,
                                const Belief& belief, BootTime now) const {
  const std::vector<DepartedPod> departed =
      DepartedPods(change, lifecycle, now, impl_->options_.typical_delay);
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
