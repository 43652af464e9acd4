// Agenda: what is still to happen in the simulated world, in the order of its time.
//
// Things due at one instant happen in the order in which they were planned. Thread-compatible.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "agent/base/boot_time.h"

namespace phantomd::world {

class Agenda {
 public:
  using Action = std::function<void()>;

  BootTime now() const { return now_; }
  void At(BootTime time, Action action) {
    items_.push_back({std::max(time, now_), ++planned_, std::move(action)});
    std::push_heap(items_.begin(), items_.end(), Later);
  }
  void In(Nanos delay, Action action) { At(now_ + delay, std::move(action)); }
  // Does everything that is due up to `end`.
  void RunUntil(BootTime end) {
    while (!items_.empty() && items_.front().time <= end) {
      std::pop_heap(items_.begin(), items_.end(), Later);
      Item item = std::move(items_.back());
      items_.pop_back();
      now_ = item.time;
      item.action();
    }
    now_ = end;
  }

 private:
  struct Item {
    BootTime time;
    uint64_t number;
    Action action;
  };
  static bool Later(const Item& a, const Item& b) {
    return a.time != b.time ? a.time > b.time : a.number > b.number;
  }

  std::vector<Item> items_;
  BootTime now_ = BootTime::FromNanos(0);
  uint64_t planned_ = 0;
};

}  // namespace phantomd::world
