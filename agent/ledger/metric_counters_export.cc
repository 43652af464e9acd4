// How MetricCounters are told, and taken over by another.
#include <utility>

#include "agent/ledger/metric_counters.h"

namespace phantomd {

void MetricCounters::Export(const std::function<void(Counted)>& sink) const {
  const auto tell = [&](const Source& source, CountedAttempts told) {
    for (int i = 0; i < kInitiators; ++i) {
      for (int d = 0; d < kClasses; ++d) {
        for (int o = 0; o < kOutcomes; ++o) {
          const CountedAttempts::Cell cell{static_cast<Initiator>(i),
                                           static_cast<DestinationClass>(d),
                                           static_cast<Outcome>(o), source.counts_[At(i, d, o)]};
          if (cell.count > 0) told.cells.push_back(cell);
        }
      }
    }
    if (!told.cells.empty()) sink(std::move(told));
  };
  tell(other_, {.other = true});
  for (const auto& [labels, source] : sources_) tell(source, {.source = labels});
  for (const auto& [key, count] : connections_) {
    const auto& [source, destination, destination_class, certainty, cause, outcome, layer] = key;
    sink(CountedConnections{
        {source, destination, destination_class, certainty, cause, outcome, layer, count.count},
        count.last});
  }
  for (const auto& [key, waited] : waits_) {
    const auto& [source_ns, source, destination_ns, destination, destination_class, outcome] = key;
    sink(CountedWaits{{source_ns, source, destination_ns, destination, destination_class, outcome,
                       waited.histogram},
                      waited.last});
  }
  for (const auto& [key, observed] : windows_) {
    sink(CountedWindows{{key.first, key.second, observed.histogram}, observed.last});
  }
}

void MetricCounters::Restore(const CountedAttempts& attempts) {
  Source* source = &other_;
  if (!attempts.other) {
    const auto found = sources_.find(attempts.source);
    if (found == sources_.end()) return;
    source = &found->second;
  }
  for (const CountedAttempts::Cell& cell : attempts.cells) {
    uint64_t& count =
        source
            ->counts_[At(static_cast<int>(cell.initiator), static_cast<int>(cell.destination_class),
                         static_cast<int>(cell.outcome))];
    if (count == 0 && !attempts.other) ++cells_;
    count = cell.count;
  }
}

template <typename Map>
void MetricCounters::Put(Map& map, typename Map::key_type key, typename Map::mapped_type value) {
  const bool has_room_of_its_own = key != OtherLike(key);
  const auto [at, added] = map.insert_or_assign(std::move(key), std::move(value));
  if (added && has_room_of_its_own) ++cells_;
}

void MetricCounters::Restore(const CountedConnections& counted) {
  const MetricCells::Connections& c = counted.cell;
  Put(connections_,
      {c.source, c.destination, c.destination_class, c.certainty, c.cause, c.outcome, c.layer},
      {c.count, counted.last});
}

void MetricCounters::Restore(const CountedWaits& counted) {
  const MetricCells::Wait& c = counted.cell;
  Put(waits_,
      {c.source_ns, c.source_workload, c.destination_ns, c.destination_workload,
       c.destination_class, c.outcome},
      {c.histogram, counted.last});
}

void MetricCounters::Restore(const CountedWindows& counted) {
  Put(windows_, {counted.cell.destination_ns, counted.cell.destination_workload},
      {counted.cell.histogram, counted.last});
}

}  // namespace phantomd
