// The windows of changes: which proxies have one, and when they are final.
#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/ledger/ledger_impl.h"

namespace phantomd {
namespace {

// A pod that leaves within a minute of the previous one belongs to the same change, and it may take
// another minute until that is settled: after both, no pod joins any more.
constexpr Nanos kQuiet = std::chrono::minutes(2);

// Who believed in any of the addresses, or connected to one. A proxy that ended in the meantime is
// among them for as long as its beliefs are remembered.
std::set<ProxyId> Concerned(const std::vector<DepartedPod>& departed, const PodTally& sum,
                            const Belief& belief) {
  std::set<ProxyId> ids;
  for (const DepartedPod& pod : departed) {
    for (const DepartedAddress& address : pod.addresses) {
      for (Believer& believer : belief.HistoryOf(address.ip)) {
        ids.insert(std::move(believer.proxy));
      }
    }
  }
  for (const auto& [id, of_proxy] : sum.proxies) ids.insert(id);
  return ids;
}

}  // namespace

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

PodTally Ledger::Impl::Sum(const WorkloadChange& change) const {
  PodTally sum;
  for (const PodHandle pod : change.pods) {
    if (const auto found = pods_.find(pod); found != pods_.end()) sum.Add(found->second);
  }
  return sum;
}

std::vector<OneWindow> Ledger::Impl::Windows(const std::vector<DepartedPod>& departed,
                                             const PodTally& sum, const Lifecycle& lifecycle,
                                             const Belief& belief) const {
  std::vector<OneWindow> windows;
  for (const ProxyId& id : Concerned(departed, sum, belief)) {
    OneWindow window = WindowOf(id, departed, sum, lifecycle, belief);
    if (window.exists) windows.push_back(std::move(window));
  }
  return windows;
}

void Ledger::Impl::Settle(const WorkloadChange& change, const Lifecycle& lifecycle,
                          const Belief& belief, BootTime now) {
  OfChange& state = changes_[change.name];
  if (state.settled && state.settled->pods == change.pods.size()) return;
  state.settled.reset();
  const std::vector<DepartedPod> departed =
      DepartedPods(change, lifecycle, now, options_.typical_delay);
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
    if (!window.figures.believed || !window.figures.closed.is_set()) continue;
    if (!state.observed.insert(window.figures.proxy).second) continue;
    counters_.ObserveWindow(change.workload.ns, change.workload.name,
                            window.figures.closed - window.figures.opened, now);
  }
  if (!all_closed) return;
  const BootTime finished = FinishedAt(change, departed, windows, now);
  state.settled = Settled{change.pods.size(), std::move(windows), finished};
}

const Ledger::Impl::Settled* Ledger::Impl::SettledOf(const WorkloadChange& change) const {
  const auto state = changes_.find(change.name);
  if (state == changes_.end() || !state->second.settled) return nullptr;
  return state->second.settled->pods == change.pods.size() ? &*state->second.settled : nullptr;
}

std::vector<WindowFigures> Ledger::Impl::WindowsToTell(const WorkloadChange& change,
                                                       const std::vector<DepartedPod>& departed,
                                                       const PodTally& sum,
                                                       const Lifecycle& lifecycle,
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
    if (!window->believed) window->closed = std::max(window->closed, of_proxy.last);
    window->attempts = of_proxy.attempts;
    window->phantoms = of_proxy.phantoms;
    window->last_connection = of_proxy.last;
  }
  return windows;
}

void Ledger::Impl::ForgetUnknown(const Lifecycle& lifecycle, BootTime now) {
  absl::erase_if(pods_, [&](const auto& entry) { return lifecycle.Pod(entry.first) == nullptr; });
  std::set<std::string_view> remembered;
  for (const WorkloadChange* change : lifecycle.Changes(now)) remembered.insert(change->name);
  std::erase_if(changes_, [&](const auto& entry) { return !remembered.contains(entry.first); });
}

}  // namespace phantomd
