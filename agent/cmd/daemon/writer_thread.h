// WriterThread writes what the engine is told, on a thread of its own.
//
// The core posts each input to inbox() as it applies it; every sink gets every input in that order.
// Sinks are flushed whenever the inbox runs empty, so what a sink holds back is never older than
// the burst that it belongs to. A report is shown once all that was posted before it is kept: what
// it says then survives the agent. A full inbox blocks the core (Mailbox counts it): a disk that is
// slower than the world slows the agent down, which the kernel's ring then absorbs or counts.
//
// Stop() writes what was posted before it, flushes and returns. Owned and stopped by one thread;
// inbox() may be used by any.
#pragma once

#include <cstddef>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "agent/base/mailbox.h"
#include "agent/base/published.h"
#include "agent/engine/input_sink.h"
#include "agent/engine/report.h"

namespace phantomd {

enum class ExportMark { kBegin, kEnd };

// A report is never null.
using WriterItem = std::variant<Input, ExportMark, std::shared_ptr<const Report>>;

class WriterThread {
 public:
  // Sinks and `shown` must outlive the thread.
  WriterThread(size_t inbox_capacity, std::vector<InputSink*> sinks, Published<Report>& shown);
  ~WriterThread();  // stops
  WriterThread(const WriterThread&) = delete;
  WriterThread& operator=(const WriterThread&) = delete;

  Mailbox<WriterItem>& inbox() { return inbox_; }
  void Stop();

 private:
  void Run();
  void Take(WriterItem item);

  Mailbox<WriterItem> inbox_;
  const std::vector<InputSink*> sinks_;
  Published<Report>& shown_;
  std::thread thread_;
};

}  // namespace phantomd
