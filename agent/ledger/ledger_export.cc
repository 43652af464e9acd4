// How a Ledger is told, and taken over by another.
#include <algorithm>
#include <utility>

#include "agent/ledger/counted.h"
#include "agent/ledger/ledger_impl.h"

namespace phantomd {

void Ledger::Export(const Lifecycle& lifecycle, const std::function<void(Counted)>& sink) const {
  const Impl& impl = *impl_;
  sink(CountedTotals{.by_class = impl.by_class_,
                     .not_judged = impl.not_judged_,
                     .kept = impl.sequence_,
                     .dropped = impl.ring_.dropped(),
                     .forget = impl.forget_});
  std::map<ProxyId, const Impl::OfProxy*> proxies;
  for (const auto& [id, proxy] : impl.proxies_) proxies[id] = &proxy;
  for (const auto& [id, proxy] : proxies) {
    sink(CountedProxy{.id = id,
                      .source = proxy->labels,
                      .known = proxy->known,
                      .gone = proxy->gone,
                      .last = proxy->last,
                      .by_class = proxy->figures.by_class});
  }
  std::map<PodUid, const PodTally*> pods;
  for (const auto& [pod, tally] : impl.pods_) {
    if (const PodRef* ref = lifecycle.Pod(pod)) pods[ref->uid] = &tally;
  }
  for (const auto& [uid, tally] : pods) sink(CountedPod{uid, *tally});
  for (const auto& [name, change] : impl.changes_) {
    CountedChange counted{.name = name,
                          .observed = {change.observed.begin(), change.observed.end()}};
    if (change.settled) {
      counted.settled = true;
      counted.settled_pods = change.settled->pods;
      counted.windows = change.settled->windows;
      counted.finished = change.settled->finished;
    }
    if (counted.settled || !counted.observed.empty()) sink(std::move(counted));
  }
  impl.counters_.Export(sink);
  for (const auto& chunk : impl.ring_.Chunks()) {
    for (const auto& connection : *chunk) sink(*connection);
  }
}

void Ledger::Restore(const Counted& part, const Lifecycle& lifecycle) {
  std::visit([&](const auto& counted) { impl_->Put(counted, lifecycle); }, part.part);
}

void Ledger::Impl::Put(const CountedTotals& totals, const Lifecycle&) {
  by_class_ = totals.by_class;
  attempts_ = 0;
  for (const auto& [destination, count] : by_class_) attempts_ += count;
  not_judged_ = totals.not_judged;
  sequence_ = totals.kept;
  ring_.CountDropped(totals.dropped);
  forget_ = totals.forget;
}

void Ledger::Impl::Put(const CountedProxy& counted, const Lifecycle&) {
  OfProxy& proxy = proxies_[counted.id];
  Relabel(proxy, counted.source);
  proxy.known = counted.known;
  proxy.gone = counted.gone;
  proxy.last = counted.last;
  proxy.figures = {.by_class = counted.by_class};
  for (const auto& [destination, count] : counted.by_class) proxy.figures.attempts += count;
}

void Ledger::Impl::Put(const CountedPod& counted, const Lifecycle& lifecycle) {
  const PodHandle pod = lifecycle.FindPod(counted.uid);
  if (pod != PodHandle::kNone) pods_[pod] = counted.tally;
}

void Ledger::Impl::Put(const CountedChange& counted, const Lifecycle&) {
  OfChange& change = changes_[counted.name];
  change.observed = {counted.observed.begin(), counted.observed.end()};
  change.settled.reset();
  if (counted.settled) {
    change.settled = Settled{counted.settled_pods, counted.windows, counted.finished};
  }
}

void Ledger::Impl::Put(const Connection& connection, const Lifecycle&) {
  ring_.Add(std::make_shared<const Connection>(connection));
}

}  // namespace phantomd
