#include "agent/lifecycle/pod_facts.h"

#include <algorithm>
#include <limits>

namespace phantomd {

bool Learn(const PodChange& change, BootTime observed, PodFacts& facts) {
  bool news = !facts.first_told.is_set();
  if (news) facts.first_told = observed;
  const WallSecond created = WallSecond::Of(change.created);
  if (created.is_set() && created != facts.created) {
    facts.created = created;
    news = true;
  }
  // The apiserver keeps deletionTimestamp minus grace at the time of the request, whatever a later
  // delete does to the grace; the first one seen is kept nevertheless, because edges may round.
  const WallSecond requested = WallSecond::Of(change.deletion_requested);
  if (requested.is_set() && !facts.deletion_requested.is_set()) {
    facts.deletion_requested = requested;
    facts.deletion_told = observed;
    news = true;
  }
  if (IsTerminal(change.phase) && !facts.terminal_told.is_set()) {
    facts.terminal_told = observed;
    news = true;
  }
  const WallSecond finished = WallSecond::Of(change.containers_finished);
  if (finished != facts.finished && (finished.is_set() || !change.deleted)) {
    // A container that is started again takes its predecessor's end back: a crash is not a death.
    facts.finished = finished;
    facts.finished_told = finished.is_set() ? observed : BootTime();
    news = true;
  }
  if (change.deleted) {
    if (!facts.deleted_told.is_set()) {
      facts.deleted_told = observed;
      if (change.not_before.is_set()) {
        // In whole milliseconds, upwards: a gap may only be told longer than it was.
        const Nanos hidden = std::max(observed - change.not_before, Nanos(1));
        facts.deletion_hidden_ms = static_cast<uint32_t>(
            std::min<int64_t>(std::chrono::ceil<std::chrono::milliseconds>(hidden).count(),
                              std::numeric_limits<uint32_t>::max()));
      }
      news = true;
    }
  } else if (!IsTerminal(change.phase) && !finished.is_set()) {
    facts.life_told = observed;
  }
  return news;
}

namespace {

// When the deletion was requested, which was told.
TimeBounds RequestBounds(const PodFacts& facts, const TimeRules& rules) {
  TimeBounds bounds = rules.OfApi(facts.deletion_requested);
  bounds.not_after = std::min(bounds.not_after, facts.deletion_told);
  bounds.not_before = std::min(bounds.not_before, bounds.not_after);
  return bounds;
}

// Whether the containers' end was a crash before the deletion request, which alone made it final.
// It may have been whenever nobody told that the pod ended by itself, but is likely only if the
// API's times cannot be those of a pod that ended because it was asked to.
enum class Crash { kNo, kMaybe, kLikely, kSurely };
Crash CrashBefore(const PodFacts& facts, const TimeRules& rules) {
  if (!facts.deletion_requested.is_set()) return Crash::kNo;
  if (facts.terminal_told.is_set() && facts.terminal_told < facts.deletion_told) return Crash::kNo;
  if (facts.finished_told < facts.deletion_told) return Crash::kSurely;
  const bool before =
      rules.OfApi(facts.finished).not_after < RequestBounds(facts, rules).not_before;
  return before ? Crash::kLikely : Crash::kMaybe;
}

}  // namespace

PodEnding EndingOf(const PodFacts& facts, bool failed, const NodeDoubt& doubt,
                   const TimeRules& rules) {
  const bool requested = facts.deletion_requested.is_set();
  const bool terminal = facts.terminal_told.is_set();
  const bool deleted = facts.deleted_told.is_set();
  const bool in_gap = deleted && facts.deleted_in_gap();
  // finishedAt of a pod that stays is a crash: the kubelet starts the container again.
  const bool finished = facts.finished.is_set() && (requested || terminal || deleted);

  // A container that had crashed waited for its next run until the deletion was requested.
  const Crash crash = finished ? CrashBefore(facts, rules) : Crash::kNo;
  const TimeBounds request = requested ? RequestBounds(facts, rules) : TimeBounds();

  PodEnding end;
  BootTime& from = end.bounds.not_before;
  BootTime& to = end.bounds.not_after;
  if (finished) {
    from = rules.OfApi(facts.finished).not_before;
    if (crash == Crash::kSurely) from = std::max(from, request.not_before);
  } else if (requested) {
    from = rules.OfApi(facts.deletion_requested).not_before;
    // A job that had ended already, without a word when, is deleted much later.
    if (terminal && facts.terminal_told <= facts.deletion_told) {
      from = std::min(from, ProvenAlive(facts, rules));
    }
    end.evidence = "deletion requested";
  } else if (in_gap && !terminal) {
    from = facts.deleted_not_before() - rules.feed_delay;
  } else if (terminal || deleted) {
    from = ProvenAlive(facts, rules);
  }
  if (!finished && doubt.lost_since < from) {
    from = doubt.lost_since;
    end.evidence = "node lost";
  }
  if (!end.suspected()) return end;

  Nanos usual = rules.typical_delay;
  const auto not_after = [&](BootTime bound, std::string_view evidence) {
    if (bound >= to) return;
    to = bound;
    end.evidence = evidence;
  };
  if (terminal && !doubt.terminal_untrusted) {
    not_after(facts.terminal_told, failed ? "phase Failed" : "phase Succeeded");
  }
  // The kubelet removes the object only after the containers. An object that goes while they run
  // was force-deleted and bounds nothing.
  if (deleted && !doubt.deletion_untrusted && (finished || terminal)) {
    not_after(facts.deleted_told, "deleted event");
  }
  if (deleted && to == BootTime::Max()) {
    end.evidence = in_gap ? "missing from a new list" : "deleted while running";
  }
  if (finished) {
    BootTime latest = std::min(facts.finished_told, rules.OfApi(facts.finished).not_after);
    if (crash != Crash::kNo) latest = std::max(latest, request.not_after);
    to = std::min(to, latest);
    end.evidence = "finished containers";
    usual = Nanos(0);
  }
  from = std::min(from, to);
  end.likely = LikelyBefore(end.bounds, usual);
  if (in_gap && !end.bounds.happened() && !doubt.deletion_untrusted) {
    // Most likely it ended as pods do, and only the news of it fell into the gap.
    end.likely = std::max(from, facts.deleted_told - usual);
  }
  if (crash == Crash::kLikely || crash == Crash::kSurely) {
    end.likely = std::clamp(LikelyBefore(request, rules.typical_delay), from, to);
  } else if (finished) {
    const BootTime second = rules.offset.ToBoot(facts.finished.time());
    const BootTime reported = facts.finished_told - kFinishReportDelay;
    // Told late (a first list, a gap): any instant of the second is as likely as another.
    const BootTime likely = reported > second + kApiGrain + rules.clock_error
                                ? second + kApiGrain / 2
                                : std::clamp(reported, second, second + kApiGrain);
    end.likely = std::clamp(likely, from, to);
  }
  return end;
}

TimeBounds DeletionBounds(const PodFacts& facts, BootTime floor, const TimeRules& rules) {
  if (!facts.deletion_requested.is_set()) {
    if (!facts.deleted_told.is_set()) return {BootTime::Max(), BootTime::Max()};
    // No object goes unasked.
    if (facts.deleted_in_gap())
      floor = std::min(floor, facts.deleted_not_before() - rules.feed_delay);
    return {floor, facts.deleted_told};
  }
  TimeBounds bounds = rules.OfApi(facts.deletion_requested);
  bounds.not_after = std::min(bounds.not_after, facts.deletion_told);
  bounds.not_before = std::min(std::max(bounds.not_before, floor), bounds.not_after);
  return bounds;
}

}  // namespace phantomd
