#include "agent/belief/let_go.h"

#include <algorithm>

namespace phantomd {

TimeBounds EndOfBelief(std::vector<EndpointHistory::Stay> stays, BootTime from, BootTime until) {
  std::erase_if(stays, [&](const EndpointHistory::Stay& stay) {
    return stay.gone_at <= from || stay.begin.first_at >= until;
  });
  if (stays.empty()) return {BootTime::Min(), BootTime::Min()};
  std::sort(stays.begin(), stays.end(),
            [](const EndpointHistory::Stay& a, const EndpointHistory::Stay& b) {
              return a.begin.first_at < b.begin.first_at;
            });
  TimeBounds end{from, std::max(from, stays.front().gone_at)};
  for (const EndpointHistory::Stay& stay : stays) {
    // Held before by one cluster and from the same poll on by another: the proxy never let go.
    if (stay.begin.first_at > end.not_after) break;
    end.not_after = std::max(end.not_after, stay.gone_at);
    end.not_before = std::max(end.not_before, stay.last.requested);
  }
  return end;
}

}  // namespace phantomd
