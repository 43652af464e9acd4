// Ledger::Impl: what a Ledger remembers. Its counting is in ledger.cc, the windows of changes are
// in ledger_windows.cc, export and import in ledger_export.cc.
//
// Private to those files.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/ledger/change_windows.h"
#include "agent/ledger/connection_ring.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/metric_counters.h"
#include "agent/ledger/pod_tally.h"

namespace phantomd {

class Ledger::Impl {
 public:
  struct OfProxy {
    ProxyFigures figures;
    SourceLabels labels;
    MetricCounters::Source* source = nullptr;
    bool known = false;  // the engine knew the proxy
    BootTime gone;       // unset: it runs
    BootTime last;       // the last time something was counted for it
  };
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

  explicit Impl(const Options& options)
      : options_(options), ring_(options.ring), counters_(options.max_cells) {}

  // --- Counting ---
  OfProxy& Find(const ProxyId& id, const Proxy* proxy);
  void Relabel(OfProxy& proxy, SourceLabels labels);
  void Release(const SourceLabels& labels);
  void Keep(const Attempt& attempt, const Proxy* proxy, const Verdict& verdict,
            const Lifecycle& lifecycle, const SourceLabels& source, BootTime now);

  // --- Windows ---
  PodTally Sum(const WorkloadChange& change) const;
  void Settle(const WorkloadChange& change, const Lifecycle& lifecycle, const Belief& belief,
              BootTime now);
  const Settled* SettledOf(const WorkloadChange& change) const;
  std::vector<WindowFigures> WindowsToTell(const WorkloadChange& change,
                                           const std::vector<DepartedPod>& departed,
                                           const PodTally& sum, const Lifecycle& lifecycle,
                                           const Belief& belief) const;
  void ForgetUnknown(const Lifecycle& lifecycle, BootTime now);

  // --- Export and import ---
  void Put(const CountedTotals& totals, const Lifecycle& lifecycle);
  void Put(const CountedProxy& counted, const Lifecycle& lifecycle);
  void Put(const CountedPod& counted, const Lifecycle& lifecycle);
  void Put(const CountedChange& counted, const Lifecycle& lifecycle);
  void Put(const Connection& connection, const Lifecycle& lifecycle);
  // Cells of the metrics.
  template <typename Cells>
  void Put(const Cells& cells, const Lifecycle&) {
    counters_.Restore(cells);
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
  bool forget_ = false;  // the horizon has moved: drop what the lifecycle has forgotten

 private:
  std::vector<OneWindow> Windows(const std::vector<DepartedPod>& departed, const PodTally& sum,
                                 const Lifecycle& lifecycle, const Belief& belief) const;
};

// When the change was finished: last pod dead and every proxy has dropped every address. Unset: not
// by `now`.
BootTime FinishedAt(const WorkloadChange& change, const std::vector<DepartedPod>& departed,
                    const std::vector<WindowFigures>& windows, BootTime now);

}  // namespace phantomd
