#include "agent/engine/end_queue.h"

#include "agent/verdict/holders.h"

namespace phantomd {

void EndQueue::Add(ConnectionEnd end, BootTime observed, BootTime due) {
  ends_.emplace(std::make_pair(due, ++arrived_), Held{std::move(end), observed});
}

ConnectionEnd EndQueue::TakeFirst() {
  ConnectionEnd end = std::move(ends_.begin()->second.end);
  ends_.erase(ends_.begin());
  return end;
}

PodHandle EndQueue::StrandedFrom(const ConnectionEnd& end, const Lifecycle& lifecycle) {
  if (end.how == ConnectionEnd::How::kClosed || end.how == ConnectionEnd::How::kUnspecified) {
    return PodHandle::kNone;
  }
  const PodHandle pod =
      LikelyHolder(lifecycle.At(end.destination.ip, end.established), end.established);
  if (pod == PodHandle::kNone) return pod;
  const TimeBounds released = lifecycle.ReleasedBounds(pod);
  return released.happened() && released.not_before <= end.ended ? pod : PodHandle::kNone;
}

}  // namespace phantomd
