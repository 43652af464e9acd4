#include "agent/engine/late_news.h"

namespace phantomd {
namespace {

// A change that was not known before, and that surely happened behind the watermark. (The bounds of
// an end may well begin there: at the deletion request, for as long as a pod takes to finish.)
bool NewAndLate(const TimeBounds& before, const TimeBounds& after, BootTime watermark) {
  return !before.happened() && after.happened() && after.not_after < watermark;
}

}  // namespace

LateNews::PodBefore LateNews::Before(const PodChange& change, const Lifecycle& lifecycle) {
  const PodHandle pod = lifecycle.FindPod(change.pod.uid);
  PodBefore before;
  before.feed_synced = lifecycle.feed(Feed::kPods).ever_synced;
  if (pod == PodHandle::kNone) return before;
  before.withdrawn = lifecycle.WithdrawnBounds(pod);
  before.released = lifecycle.ReleasedBounds(pod);
  return before;
}

void LateNews::PodApplied(const PodChange& change, const PodBefore& before,
                          const Lifecycle& lifecycle, BootTime watermark) {
  // The first list is history, not late news: its instants lie before the horizon.
  if (!before.feed_synced) return;
  const PodHandle pod = lifecycle.FindPod(change.pod.uid);
  if (change.not_before.is_set() && change.not_before < watermark) return Count("pod");
  if (pod == PodHandle::kNone) return;
  if (NewAndLate(before.withdrawn, lifecycle.WithdrawnBounds(pod), watermark) ||
      NewAndLate(before.released, lifecycle.ReleasedBounds(pod), watermark)) {
    Count("pod");
  }
}

void LateNews::Happened(std::string_view kind, BootTime when, BootTime watermark) {
  if (when.is_set() && when < watermark) Count(kind);
}

}  // namespace phantomd
