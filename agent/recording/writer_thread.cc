#include "agent/recording/writer_thread.h"

#include <chrono>
#include <deque>
#include <utility>

namespace phantomd {
namespace {

// Only bounds how long one wait lasts; a value or Close() ends it at once.
constexpr std::chrono::seconds kWait{10};

}  // namespace

WriterThread::WriterThread(size_t inbox_capacity, std::vector<InputSink*> sinks)
    : inbox_(inbox_capacity), sinks_(std::move(sinks)), thread_([this] { Run(); }) {}

WriterThread::~WriterThread() { Stop(); }

void WriterThread::Stop() {
  inbox_.Close();
  if (thread_.joinable()) thread_.join();
}

void WriterThread::Run() {
  while (true) {
    std::optional<Input> first = inbox_.Take(kWait);
    if (!first) {
      if (inbox_.closed()) break;
      continue;
    }
    std::deque<Input> rest = inbox_.TakeAll();
    rest.push_front(*std::move(first));
    for (const Input& input : rest) {
      for (InputSink* sink : sinks_) sink->Write(input);
    }
    for (InputSink* sink : sinks_) sink->Flush();
  }
}

}  // namespace phantomd
