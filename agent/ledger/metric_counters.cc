#include "agent/ledger/metric_counters.h"

#include <algorithm>
#include <chrono>

namespace phantomd {
namespace {

const char kOther[] = "other";

template <size_t N>
void Observe(Histogram& histogram, const std::array<double, N>& bounds, Nanos value) {
  const double seconds = std::chrono::duration<double>(value).count();
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin();
  ++histogram.buckets[static_cast<size_t>(bucket)];
  histogram.sum_seconds += seconds;
  ++histogram.count;
}

size_t IndexOf(Initiator initiator, DestinationClass destination, Outcome outcome) {
  return MetricCounters::At(static_cast<int>(initiator), static_cast<int>(destination),
                            static_cast<int>(outcome));
}

}  // namespace

MetricCounters::Source* MetricCounters::AddSource(const SourceLabels& source) {
  return &sources_[source];
}

void MetricCounters::CountAttempt(Source& source, Initiator initiator, DestinationClass destination,
                                  Outcome outcome) {
  uint64_t& count = source.counts_[IndexOf(initiator, destination, outcome)];
  if (count == 0) {
    if (full()) {
      ++other_.counts_[IndexOf(initiator, destination, outcome)];
      return;
    }
    ++cells_;
  }
  ++count;
}

MetricCounters::ConnectionKey MetricCounters::OtherLike(const ConnectionKey& key) {
  ConnectionKey other = key;
  std::get<0>(other) = {"", kOther, ""};
  std::get<1>(other) = {"", kOther, ""};
  return other;
}

MetricCounters::WaitKey MetricCounters::OtherLike(const WaitKey& key) {
  return {"", kOther, "", kOther, std::get<4>(key), std::get<5>(key)};
}

MetricCounters::WindowKey MetricCounters::OtherLike(const WindowKey&) { return {"", kOther}; }

template <typename Map>
typename Map::mapped_type& MetricCounters::Cell(Map& map, const typename Map::key_type& key) {
  if (const auto found = map.find(key); found != map.end()) return found->second;
  if (full()) return map[OtherLike(key)];
  if (key != OtherLike(key)) ++cells_;
  return map[key];
}

void MetricCounters::CountConnection(const MetricCells::Connections& c, Nanos wait, BootTime now) {
  Count& cell = Cell(connections_, {c.source, c.destination, c.destination_class, c.certainty,
                                    c.cause, c.outcome, c.layer});
  ++cell.count;
  cell.last = now;
  Observed& waited = Cell(waits_, {c.source.ns, c.source.workload, c.destination.ns,
                                   c.destination.workload, c.destination_class, c.outcome});
  Observe(waited.histogram, kWaitBuckets, wait);
  waited.last = now;
}

void MetricCounters::ObserveWindow(const std::string& ns, const std::string& workload, Nanos window,
                                   BootTime now) {
  Observed& observed = Cell(windows_, {ns, workload});
  Observe(observed.histogram, kWindowBuckets, window);
  observed.last = now;
}

void MetricCounters::Expire(const SourceLabels& source) {
  const auto found = sources_.find(source);
  if (found == sources_.end()) return;
  for (const uint64_t count : found->second.counts_) cells_ -= count > 0 ? 1 : 0;
  sources_.erase(found);
  cells_ -= std::erase_if(connections_,
                          [&](const auto& cell) { return std::get<0>(cell.first) == source; });
  // Waits are told per workload: they stay while another pod of it is there.
  const bool workload_stays = std::any_of(sources_.begin(), sources_.end(), [&](const auto& other) {
    return other.first.ns == source.ns && other.first.workload == source.workload;
  });
  if (workload_stays) return;
  cells_ -= std::erase_if(waits_, [&](const auto& cell) {
    return std::get<0>(cell.first) == source.ns && std::get<1>(cell.first) == source.workload;
  });
}

void MetricCounters::Compact(BootTime horizon) {
  const auto forget = [&](auto& map) {
    std::erase_if(map, [&](const auto& cell) {
      if (cell.second.last >= horizon) return false;
      if (cell.first != OtherLike(cell.first)) --cells_;
      return true;
    });
  };
  forget(connections_);
  forget(waits_);
  forget(windows_);
}

MetricCells MetricCounters::Cells() const {
  MetricCells cells;
  const auto add = [&](const SourceLabels& labels, const Source& source) {
    for (int i = 0; i < kInitiators; ++i) {
      for (int d = 0; d < kClasses; ++d) {
        for (int o = 0; o < kOutcomes; ++o) {
          const auto initiator = static_cast<Initiator>(i);
          const auto destination = static_cast<DestinationClass>(d);
          const auto outcome = static_cast<Outcome>(o);
          const uint64_t count = source.counts_[IndexOf(initiator, destination, outcome)];
          if (count > 0) cells.attempts.push_back({labels, initiator, destination, outcome, count});
        }
      }
    }
  };
  add({"", kOther, ""}, other_);
  for (const auto& [labels, source] : sources_) add(labels, source);
  std::stable_sort(cells.attempts.begin(), cells.attempts.end(),
                   [](const auto& a, const auto& b) { return a.source < b.source; });
  for (const auto& [key, count] : connections_) {
    const auto& [source, destination, destination_class, certainty, cause, outcome, layer] = key;
    cells.connections.push_back(
        {source, destination, destination_class, certainty, cause, outcome, layer, count.count});
  }
  for (const auto& [key, waited] : waits_) {
    const auto& [source_ns, source, destination_ns, destination, destination_class, outcome] = key;
    cells.waits.push_back({source_ns, source, destination_ns, destination, destination_class,
                           outcome, waited.histogram});
  }
  for (const auto& [key, observed] : windows_) {
    cells.windows.push_back({key.first, key.second, observed.histogram});
  }
  return cells;
}

}  // namespace phantomd
