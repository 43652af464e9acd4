// Mutex, MutexLock and CondVar: std::mutex with clang's thread-safety attributes.
//
// std::mutex rather than absl::Mutex because ThreadSanitizer understands it and Debian's Abseil is
// not instrumented. Locks exist in base/ alone; everything above passes values through Mailbox and
// Published.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define PHANTOMD_TSA(x) __attribute__((x))
#else
#define PHANTOMD_TSA(x)
#endif
#define PHANTOMD_CAPABILITY(x) PHANTOMD_TSA(capability(x))
#define PHANTOMD_SCOPED_CAPABILITY PHANTOMD_TSA(scoped_lockable)
#define PHANTOMD_GUARDED_BY(x) PHANTOMD_TSA(guarded_by(x))
#define PHANTOMD_REQUIRES(...) PHANTOMD_TSA(requires_capability(__VA_ARGS__))
#define PHANTOMD_ACQUIRE(...) PHANTOMD_TSA(acquire_capability(__VA_ARGS__))
#define PHANTOMD_RELEASE(...) PHANTOMD_TSA(release_capability(__VA_ARGS__))
#define PHANTOMD_EXCLUDES(...) PHANTOMD_TSA(locks_excluded(__VA_ARGS__))

namespace phantomd {

class PHANTOMD_CAPABILITY("mutex") Mutex {
 public:
  void lock() PHANTOMD_ACQUIRE() { mutex_.lock(); }
  void unlock() PHANTOMD_RELEASE() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class PHANTOMD_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) PHANTOMD_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() PHANTOMD_RELEASE() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  void Wait(Mutex& mutex) PHANTOMD_REQUIRES(mutex) { cv_.wait(mutex); }
  // False when `timeout` passed first.
  bool WaitFor(Mutex& mutex, std::chrono::nanoseconds timeout) PHANTOMD_REQUIRES(mutex) {
    return cv_.wait_for(mutex, timeout) == std::cv_status::no_timeout;
  }
  void NotifyOne() { cv_.notify_one(); }
  void NotifyAll() { cv_.notify_all(); }

 private:
  std::condition_variable_any cv_;
};

}  // namespace phantomd
