#include "agent/cmd/daemon/writer_thread.h"

#include <chrono>
#include <deque>
#include <utility>

namespace phantomd {
namespace {

// Only bounds how long one wait lasts; a value or Close() ends it at once.
constexpr std::chrono::seconds kWait{10};

}  // namespace

WriterThread::WriterThread(size_t inbox_capacity, std::vector<InputSink*> sinks,
                           Published<Report>& shown)
    : inbox_(inbox_capacity), sinks_(std::move(sinks)), shown_(shown), thread_([this] { Run(); }) {}

WriterThread::~WriterThread() { Stop(); }

void WriterThread::Stop() {
  inbox_.Close();
  if (thread_.joinable()) thread_.join();
}

void WriterThread::Run() {
  while (true) {
    std::optional<WriterItem> first = inbox_.Take(kWait);
    if (!first) {
      if (inbox_.closed()) break;
      continue;
    }
    std::deque<WriterItem> rest = inbox_.TakeAll();
    Take(*std::move(first));
    for (WriterItem& item : rest) Take(std::move(item));
    for (InputSink* sink : sinks_) sink->Flush();
  }
}

void WriterThread::Take(WriterItem item) {
  if (auto* report = std::get_if<std::shared_ptr<const Report>>(&item)) {
    // Here and now: what stands behind it may be half of an export.
    for (InputSink* sink : sinks_) sink->Commit();
    shown_.Set(std::move(*report));
    return;
  }
  for (InputSink* sink : sinks_) {
    if (const auto* input = std::get_if<Input>(&item)) {
      sink->Write(*input);
    } else if (std::get<ExportMark>(item) == ExportMark::kBegin) {
      sink->BeginExport();
    } else {
      sink->EndExport();
    }
  }
}

}  // namespace phantomd
