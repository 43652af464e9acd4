// Backoff: how long to wait before the next try, longer after each failure, never the same on two
// agents: after an API server's restart all of them come back at once.
//
//   the k-th failure in a row waits 0.8 s * 2^(k-1) * [1, 2), at most 30 s * [1, 2), as client-go
//   (tools/cache/reflector.go); a server that names a time waits that * [1, 1.5) at the least.
//
// Thread-compatible; reads no clock and knows no chance.
#pragma once

#include "agent/base/boot_time.h"

namespace phantomd {

class Backoff {
 public:
  static constexpr Nanos kFirst = std::chrono::milliseconds(800);
  static constexpr Nanos kLongest = std::chrono::seconds(30);

  // `retry_after`: what the server asked for; 0: nothing. `random`: a number in [0, 1).
  Nanos Next(Nanos retry_after, double random);
  void Reset() { next_ = kFirst; }

 private:
  Nanos next_ = kFirst;
};

}  // namespace phantomd
