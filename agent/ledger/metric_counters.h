// MetricCounters: the numbers behind MetricCells, by label values, within a bound.
//
// Beyond max_cells a new combination of label values is counted under the workload "other" (all
// other workload labels empty): nothing is lost from the sums, only told less precisely.
// Example, max_cells 1: shop/webapp DEAD counted, then shop/cart DEAD: cells are {webapp 1, other
// 1}. Cells of a source disappear with it; a cell that has not been counted since the horizon too,
// as its rollout is forgotten by then.
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "agent/base/boot_time.h"
#include "agent/ledger/counted.h"
#include "agent/ledger/metric_cells.h"

namespace phantomd {

class MetricCounters {
 public:
  explicit MetricCounters(size_t max_cells) : max_cells_(max_cells) {}

  // The attempts of one source: a plain array, so that counting one more allocates nothing.
  class Source;
  // `source` is known from now on, until Expire. The pointer is valid until then.
  Source* AddSource(const SourceLabels& source);
  void Expire(const SourceLabels& source);

  void CountAttempt(Source& source, Initiator initiator, DestinationClass destination,
                    Outcome outcome);
  void CountConnection(const MetricCells::Connections& labels, Nanos wait, BootTime now);
  void ObserveWindow(const std::string& ns, const std::string& workload, Nanos window,
                     BootTime now);
  void Compact(BootTime horizon);

  MetricCells Cells() const;  // sorted by label values

  void Export(const std::function<void(Counted)>& sink) const;
  // Of sources that were added, once each.
  void Restore(const CountedAttempts& attempts);
  void Restore(const CountedConnections& counted);
  void Restore(const CountedWaits& counted);
  void Restore(const CountedWindows& counted);
  size_t cells() const { return cells_; }

  static constexpr int kInitiators = 5, kClasses = 7, kOutcomes = 9;
  static constexpr size_t At(int initiator, int destination, int outcome) {
    return static_cast<size_t>((initiator * kClasses + destination) * kOutcomes + outcome);
  }
  class Source {
   private:
    friend class MetricCounters;
    std::array<uint64_t, kInitiators * kClasses * kOutcomes> counts_{};
  };

 private:
  using ConnectionKey = std::tuple<SourceLabels, DestinationLabels, DestinationClass, Certainty,
                                   Cause, Outcome, Layer>;
  using WaitKey =
      std::tuple<std::string, std::string, std::string, std::string, DestinationClass, Outcome>;
  using WindowKey = std::pair<std::string, std::string>;
  struct Count {
    uint64_t count = 0;
    BootTime last;
  };
  struct Observed {
    Histogram histogram;
    BootTime last;
  };
  // The cell of `key`, or of the other one like it where there is no room for one more.
  template <typename Map>
  typename Map::mapped_type& Cell(Map& map, const typename Map::key_type& key);
  bool full() const { return cells_ >= max_cells_; }

  // The keys of what had no room.
  static ConnectionKey OtherLike(const ConnectionKey& key);
  static WaitKey OtherLike(const WaitKey& key);
  static WindowKey OtherLike(const WindowKey& key);
  template <typename Map>
  void Put(Map& map, typename Map::key_type key, typename Map::mapped_type value);

  const size_t max_cells_;
  size_t cells_ = 0;  // those of "other" not counted
  std::map<SourceLabels, Source> sources_;
  Source other_;
  std::map<ConnectionKey, Count> connections_;
  std::map<WaitKey, Observed> waits_;
  std::map<WindowKey, Observed> windows_;
};

}  // namespace phantomd
