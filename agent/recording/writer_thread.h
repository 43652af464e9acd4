// WriterThread writes what the engine is told, on a thread of its own.
//
// The core posts each input to inbox() as it applies it; every sink gets every input in that order.
// Sinks are flushed whenever the inbox runs empty, so what a sink holds back is never older than
// the burst that it belongs to. A full inbox blocks the core (Mailbox counts it): a disk that is
// slower than the world slows the agent down, which the kernel's ring then absorbs or counts.
//
// Stop() writes what was posted before it, flushes and returns. Owned and stopped by one thread;
// inbox() may be used by any.
#pragma once

#include <cstddef>
#include <thread>
#include <vector>

#include "agent/base/mailbox.h"
#include "agent/engine/input.h"

namespace phantomd {

// Something that keeps inputs. Called by the writer thread alone.
class InputSink {
 public:
  virtual ~InputSink() = default;
  virtual void Write(const Input& input) = 0;
  virtual void Flush() = 0;
};

class WriterThread {
 public:
  // The sinks must outlive the thread.
  WriterThread(size_t inbox_capacity, std::vector<InputSink*> sinks);
  ~WriterThread();  // stops
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  Mailbox<Input>& inbox() { return inbox_; }
  void Stop();

 private:
  void Run();

  Mailbox<Input> inbox_;
  const std::vector<InputSink*> sinks_;
  std::thread thread_;
};

}  // namespace phantomd
