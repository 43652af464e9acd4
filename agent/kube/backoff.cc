#include "agent/kube/backoff.h"

#include <algorithm>

namespace phantomd {

Nanos Backoff::Next(Nanos retry_after, double random) {
  const auto times = [](Nanos wait, double factor) {
    return Nanos(static_cast<int64_t>(static_cast<double>(wait.count()) * factor));
  };
  const Nanos wait = times(next_, 1 + random);
  next_ = std::min(2 * next_, kLongest);
  return std::max(wait, times(retry_after, 1 + random / 2));
}

}  // namespace phantomd
