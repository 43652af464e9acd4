// Published holds the latest version of an immutable value: one thread replaces it, any thread
// reads it.
//
// Readers keep the version they got for as long as they hold the pointer; it never changes under
// them. Thread-safe.
#pragma once

#include <memory>
#include <utility>

#include "agent/base/mutex.h"

namespace phantomd {

template <typename T>
class Published {
 public:
  Published() : value_(std::make_shared<const T>()) {}

  void Set(std::shared_ptr<const T> value) PHANTOMD_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    value_.swap(value);  // the old version is released after the lock
  }

  // Never null.
  std::shared_ptr<const T> Get() const PHANTOMD_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return value_;
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ PHANTOMD_GUARDED_BY(mutex_);
};

}  // namespace phantomd
