// LossPeriods remembers when observations were lost: what was counted in such a period may have
// been more.
//
// A period holds the instants at which the lost observations would have been made, an attempt's
// that of its outcome. Periods of one kind and one proxy that follow one another within kJoin are
// one, up to kLongest, so that a storm that is told twenty times a second stays a few entries.
// Behind the horizon all of one kind and proxy are one entry, which keeps the sums.
//
// Example: {attempt, 5, [10.0, 10.1], P} and {attempt, 2, [10.1, 10.2], P} are 7 in [10.0, 10.2]:
//   Attempts(10.15, 20) = at most 7    Attempts(11, 20) = 0    AttemptsOf(P) = 7
//
// Thread-compatible. Never reads a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/engine/input.h"

namespace phantomd {

class LossPeriods {
 public:
  static constexpr Nanos kJoin = std::chrono::seconds(1);
  static constexpr Nanos kLongest = std::chrono::seconds(60);

  struct Sum {
    uint64_t count = 0;
    bool unknown = false;  // and more, nobody knows how many

    bool any() const { return count > 0 || unknown; }
  };
  struct Period {
    Loss loss;
    BootTime told;  // when the latest part of it was told
  };

  void Add(const Loss& loss, BootTime told);

  // Attempts of whomever that may have been lost in [from, to].
  Sum Attempts(BootTime from, BootTime to) const;
  // Attempts of this proxy, ever; unknown: of anybody, in [from, to].
  Sum AttemptsOf(const ProxyId& proxy, BootTime from, BootTime to) const;
  // The latest last, of every kind.
  std::vector<Loss> Latest(size_t count) const;
  void Export(const std::function<void(const Period&)>& sink) const;
  // `known` tells whether a proxy is still to be reported of.
  void Compact(BootTime horizon, const std::function<bool(const ProxyId&)>& known);

 private:
  using Key = std::pair<std::string, ProxyId>;  // what, whose

  std::map<Key, std::vector<Period>> periods_;  // by when they were told
};

}  // namespace phantomd
