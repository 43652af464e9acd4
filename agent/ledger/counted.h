// Counted: what a Ledger has counted, cut into parts of bounded size, so that another one can go on
// counting where it stood.
//
// Pods go by their UIDs: handles differ between two indices. Instants and counts are those of the
// ledger as it was. Example: a ledger that judged 3 attempts of one proxy, one of them DEAD, is the
// parts CountedTotals (LIVE 2, DEAD 1), CountedProxy, CountedPod (dead 1), CountedAttempts,
// CountedConnections, CountedWaits and one Connection.
//
// Plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/ledger/connection.h"
#include "agent/ledger/ledger.h"
#include "agent/ledger/metric_cells.h"
#include "agent/ledger/pod_tally.h"

namespace phantomd {

struct CountedTotals {
  std::map<DestinationClass, uint64_t> by_class;
  std::map<Initiator, uint64_t> not_judged;
  uint64_t kept = 0;     // connections that ever were in the ring
  uint64_t dropped = 0;  // out of the ring
  bool forget = false;   // a compaction is not yet finished

  friend bool operator==(const CountedTotals&, const CountedTotals&) = default;
};

struct CountedProxy {
  ProxyId id;
  SourceLabels source;
  bool known = false;
  BootTime gone;  // unset: it runs
  BootTime last;
  std::map<DestinationClass, uint64_t> by_class;

  friend bool operator==(const CountedProxy&, const CountedProxy&) = default;
};

struct CountedPod {
  PodUid uid;
  PodTally tally;

  friend bool operator==(const CountedPod&, const CountedPod&) = default;
};

struct CountedChange {
  std::string name;
  std::vector<ProxyId> observed;  // in the window histogram
  bool settled = false;
  uint64_t settled_pods = 0;
  std::vector<WindowFigures> windows;
  BootTime finished;

  friend bool operator==(const CountedChange&, const CountedChange&) = default;
};

// The cells of phantom_attempts_total of one source.
struct CountedAttempts {
  struct Cell {
    Initiator initiator = Initiator::kUnspecified;
    DestinationClass destination_class = DestinationClass::kUnspecified;
    Outcome outcome = Outcome::kUnspecified;
    uint64_t count = 0;

    friend bool operator==(const Cell&, const Cell&) = default;
  };
  bool other = false;  // those that had no room of their own; the source is none then
  SourceLabels source;
  std::vector<Cell> cells;

  friend bool operator==(const CountedAttempts&, const CountedAttempts&) = default;
};

// One cell of the other metrics, and when it was last counted.
template <typename CellType>
struct CountedCell {
  CellType cell;
  BootTime last;

  friend bool operator==(const CountedCell&, const CountedCell&) = default;
};
using CountedConnections = CountedCell<MetricCells::Connections>;
using CountedWaits = CountedCell<MetricCells::Wait>;
using CountedWindows = CountedCell<MetricCells::Window>;

class Counted {
 public:
  using Part = std::variant<CountedTotals, CountedProxy, CountedPod, CountedChange, CountedAttempts,
                            CountedConnections, CountedWaits, CountedWindows, Connection>;
  Counted() = default;
  template <typename T>
    requires std::is_constructible_v<Part, T>
  Counted(T part) : part(std::move(part)) {}

  Part part;

  friend bool operator==(const Counted&, const Counted&) = default;
};

}  // namespace phantomd
