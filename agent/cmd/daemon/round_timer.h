// RoundTimer paces the core's rounds: soon after one that had something to do, later after one that
// had not, and at once when there is something urgent, but not without end: a steady stream of news
// makes at most 200 rounds a second.
//
// Wait() is for the core's thread; Wake() is thread-safe.
#pragma once

#include <chrono>

namespace phantomd {

class RoundTimer {
 public:
  static constexpr std::chrono::milliseconds kBusy{50};
  static constexpr std::chrono::milliseconds kIdle{250};
  static constexpr std::chrono::milliseconds kLeast{5};

  // Without its descriptors, which is logged, rounds only come at their usual pace.
  RoundTimer();
  ~RoundTimer();
  RoundTimer(const RoundTimer&) = delete;
  RoundTimer& operator=(const RoundTimer&) = delete;

  // Also wakes when `fd` turns readable, but not while it merely stays so: a ring that holds
  // records is readable all the time. `fd` must outlive the waits.
  void Watch(int fd);
  // False: nothing was urgent.
  bool Wait(bool busy);
  void Wake();

 private:
  const int epoll_;
  const int event_;
  std::chrono::steady_clock::time_point woken_;  // by the last wait
};

}  // namespace phantomd
