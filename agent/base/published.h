// Published holds the latest version of an immutable value: one thread replaces it, any thread
// reads it.
//
// Readers keep the version they got for as long as they hold the pointer; it never changes under
// them. Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <utility>

#include "agent/base/mutex.h"

namespace phantomd {

template <typename T>
class Published {
 public:
  Published() : value_(std::make_shared<const T>()) {}

  void Set(std::shared_ptr<const T> value) PHANTOMD_EXCLUDES(mutex_) {
    {
      MutexLock lock(mutex_);
      value_.swap(value);  // the old version is released after the lock
    }
    replaced_.NotifyAll();
  }

  // Never null.
  std::shared_ptr<const T> Get() const PHANTOMD_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return value_;
  }

  // Waits for a version other than `seen`, at most `timeout`; after that it returns the one there
  // is, perhaps `seen` itself. Never null.
  std::shared_ptr<const T> GetNewer(const std::shared_ptr<const T>& seen,
                                    std::chrono::nanoseconds timeout) const
      PHANTOMD_EXCLUDES(mutex_) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    MutexLock lock(mutex_);
    while (value_ == seen) {
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left <= std::chrono::nanoseconds(0)) break;
      replaced_.WaitFor(mutex_, left);
    }
    return value_;
  }

 private:
  mutable Mutex mutex_;
  mutable CondVar replaced_;
  std::shared_ptr<const T> value_ PHANTOMD_GUARDED_BY(mutex_);
};

}  // namespace phantomd
