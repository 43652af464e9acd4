// Mailbox passes values from any number of threads to one reader, first in, first out, up to a
// bound.
//
// A full mailbox blocks the sender until there is room (and counts that it did): nothing is dropped
// in silence. After Close() senders are turned away and the reader gets what is left. A reader that
// waits for other things, too, can be told of what is urgent.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "agent/base/mutex.h"

namespace phantomd {

template <typename T>
class Mailbox {
 public:
  explicit Mailbox(size_t capacity) : capacity_(capacity) {}
  // `wake` is called by the sender's thread once an urgent value is there, and by one that has to
  // wait for room. Both must be thread-safe, and not use the mailbox.
  Mailbox(size_t capacity, std::function<bool(const T&)> is_urgent, std::function<void()> wake)
      : capacity_(capacity), is_urgent_(std::move(is_urgent)), wake_(std::move(wake)) {}

  // Blocks while full. False: closed, the value was not taken.
  bool Post(T value) PHANTOMD_EXCLUDES(mutex_) {
    const bool urgent = is_urgent_ && is_urgent_(value);
    {
      MutexLock lock(mutex_);
      if (queue_.size() >= capacity_ && !closed_) {
        ++blocked_;
        if (wake_) wake_();
      }
      while (queue_.size() >= capacity_ && !closed_) has_room_.Wait(mutex_);
      if (closed_) return false;
      queue_.push_back(std::move(value));
    }
    has_value_.NotifyOne();
    if (urgent) wake_();
    return true;
  }

  // Never blocks. False: full or closed, the value was not taken; the sender says so to whoever
  // asked. For senders that have somebody to answer.
  bool TryPost(T value) PHANTOMD_EXCLUDES(mutex_) {
    const bool urgent = is_urgent_ && is_urgent_(value);
    {
      MutexLock lock(mutex_);
      if (closed_ || queue_.size() >= capacity_) return false;
      queue_.push_back(std::move(value));
    }
    has_value_.NotifyOne();
    if (urgent) wake_();
    return true;
  }

  // Everything that is there, oldest first; never blocks.
  std::deque<T> TakeAll() PHANTOMD_EXCLUDES(mutex_) {
    std::deque<T> out;
    {
      MutexLock lock(mutex_);
      out.swap(queue_);
    }
    has_room_.NotifyAll();
    return out;
  }

  // The oldest value, waiting for one at most `timeout`; nothing on timeout or when closed and
  // empty.
  std::optional<T> Take(std::chrono::nanoseconds timeout) PHANTOMD_EXCLUDES(mutex_) {
    std::optional<T> out;
    {
      const auto deadline = std::chrono::steady_clock::now() + timeout;
      MutexLock lock(mutex_);
      while (queue_.empty() && !closed_) {
        const auto left = deadline - std::chrono::steady_clock::now();
        if (left <= std::chrono::nanoseconds(0)) break;
        has_value_.WaitFor(mutex_, left);
      }
      if (queue_.empty()) return out;
      out = std::move(queue_.front());
      queue_.pop_front();
    }
    has_room_.NotifyOne();
    return out;
  }

  void Close() PHANTOMD_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      closed_ = true;
    }
    has_room_.NotifyAll();
    has_value_.NotifyAll();
  }

  bool closed() const PHANTOMD_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return closed_;
  }

  // How many times a sender had to wait.
  uint64_t blocked() const PHANTOMD_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return blocked_;
  }

 private:
  const size_t capacity_;
  const std::function<bool(const T&)> is_urgent_;  // none: nothing is
  const std::function<void()> wake_;
  mutable Mutex mutex_;
  CondVar has_room_;
  CondVar has_value_;
  std::deque<T> queue_ PHANTOMD_GUARDED_BY(mutex_);
  uint64_t blocked_ PHANTOMD_GUARDED_BY(mutex_) = 0;
  bool closed_ PHANTOMD_GUARDED_BY(mutex_) = false;
};

}  // namespace phantomd
