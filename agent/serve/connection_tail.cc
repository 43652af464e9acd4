#include "agent/serve/connection_tail.h"

#include <iterator>

namespace phantomd {
namespace {

uint64_t NewestSequence(const Report& report) {
  for (auto chunk = report.connections.rbegin(); chunk != report.connections.rend(); ++chunk) {
    if (!(*chunk)->empty()) return (*chunk)->back()->sequence;
  }
  return 0;
}

}  // namespace

ConnectionTail::ConnectionTail(const Report& report) : seen_(NewestSequence(report)) {}

ConnectionTail::News ConnectionTail::Next(const Report& report) {
  News news;
  // Most of the ring has been seen: walk back to where that begins.
  auto first = report.connections.end();
  while (first != report.connections.begin()) {
    const ConnectionChunk& before = **std::prev(first);
    if (!before.empty() && before.back()->sequence <= seen_) break;
    --first;
  }
  for (auto chunk = first; chunk != report.connections.end(); ++chunk) {
    for (const auto& connection : **chunk) {
      if (connection->sequence > seen_) news.connections.push_back(connection);
    }
  }
  if (news.connections.empty()) return news;
  news.missed = news.connections.front()->sequence - seen_ - 1;
  seen_ = news.connections.back()->sequence;
  return news;
}

}  // namespace phantomd
