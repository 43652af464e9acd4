#include "agent/lifecycle/service_clock.h"

#include <algorithm>

namespace phantomd {
namespace {

constexpr TimeBounds kNever = {BootTime::Max(), BootTime::Max()};

// One end of a time in service.
struct Exit {
  TimeBounds bounds = kNever;
  bool by_terminating = false;
};

// What one Service says of the tenancy at t.
struct ListingState {
  bool may_be_in = false;
  bool may_be_before = true;  // not yet in service for the first time
  bool may_be_after = false;  // out of it again
  bool ever_in = false;       // at any time, or it may have been
  bool surely_in = false;     // ... as was told
  Exit behind;                // the newest exit that t may lie behind
  Exit ahead;                 // the first one after t
};

ListingState StateOf(const ServiceIndex& services, uint32_t id, const FeedLog& feed,
                     const TimeBounds& deletion, BootTime t) {
  const Listing& listing = services[id];
  ListingState state;
  BootTime next_in = BootTime::Max();
  const auto add = [&](BootTime in_told, BootTime out_told, bool by_terminating) {
    const BootTime in_floor = feed.NewsFloor(in_told);
    Exit exit;
    if (out_told.is_set()) {
      exit.bounds = {std::max(in_floor, feed.NewsFloor(out_told)), out_told};
      exit.by_terminating = by_terminating;
      if (by_terminating && deletion.happened()) {
        // A slice says terminating because the deletion was requested: it cannot have been earlier.
        exit.bounds.not_before =
            std::min(std::max(exit.bounds.not_before, deletion.not_before), out_told);
      }
    }
    state.ever_in = state.surely_in = true;
    if (t >= in_floor && t < exit.bounds.not_after) state.may_be_in = true;
    if (t >= exit.bounds.not_before && t < next_in) {
      if (!state.may_be_after) state.behind = exit;
      state.may_be_after = true;
    }
    if (exit.bounds.not_before > t) state.ahead = exit;
    state.may_be_before = t < in_told;
    next_in = in_told;
  };
  if (listing.ever_ready) {
    add(listing.in_told, listing.out_told, listing.by_terminating);
    for (uint32_t at = listing.older; at != 0; at = services.span(at).older) {
      const ServiceSpan& span = services.span(at);
      add(span.in_told, span.out_told, span.by_terminating);
    }
  }
  // next_in is its first time in service by now.
  if (listing.unseen_start && t < next_in) {
    const BootTime listed = services.FirstListed(id);
    const BootTime floor = feed.NewsFloor(listed);
    if (t >= floor) {
      if (!state.may_be_after) state.behind.bounds = {floor, listed};
      state.may_be_after = true;
    }
    state.ever_in = true;
  }
  return state;
}

// Of two Services, the later exit is the withdrawal: until then one of them had it in service.
void TakeLater(const Exit& exit, Exit* later) {
  if (later->bounds == kNever) {
    *later = exit;
    return;
  }
  later->bounds = {std::max(later->bounds.not_before, exit.bounds.not_before),
                   std::max(later->bounds.not_after, exit.bounds.not_after)};
  later->by_terminating = later->by_terminating && exit.by_terminating;
}

}  // namespace

ServiceState ServiceStateAt(const ServiceIndex& services, uint32_t listings, const FeedLog& feed,
                            const TimeBounds& deletion, const TimeRules& rules, BootTime t) {
  bool in = false;
  bool before = true;  // in no Service yet
  bool all_out = true;
  bool any_after = false;
  bool any_ahead_open = false;
  bool ever_in = listings == 0;  // a pod without a Service is withdrawn by its deletion alone
  bool surely_in = ever_in;
  Exit behind;
  Exit ahead;
  for (uint32_t at = listings; at != 0; at = services[at].next) {
    const ListingState state = StateOf(services, at, feed, deletion, t);
    in |= state.may_be_in;
    before &= state.may_be_before;
    all_out &= state.may_be_before || state.may_be_after;
    any_after |= state.may_be_after;
    ever_in |= state.ever_in;
    surely_in |= state.surely_in;
    if (state.may_be_after) TakeLater(state.behind, &behind);
    if (state.ahead.bounds != kNever) {
      TakeLater(state.ahead, &ahead);
    } else if (state.may_be_in) {
      any_ahead_open = true;  // this Service keeps it: the others' exits withdraw nothing
    }
  }

  ServiceState result;
  result.may_be_in_service = in || before;
  result.may_be_withdrawn = any_after && all_out;
  Exit exit;
  if (result.may_be_withdrawn) {
    exit = behind;
  } else if (!any_ahead_open) {
    exit = ahead;
  }
  if (deletion.happened() && ever_in) {
    if (t >= deletion.not_before) result.may_be_withdrawn = true;
    // One that never was in service is not withdrawn.
    if (t >= deletion.not_after && surely_in) result.may_be_in_service = false;
    // The slice's word comes after the request, but its receipt may bound the request from above.
    exit.bounds.not_before = exit.by_terminating
                                 ? deletion.not_before
                                 : std::min(exit.bounds.not_before, deletion.not_before);
    exit.bounds.not_after = std::min(exit.bounds.not_after, deletion.not_after);
  }
  result.withdrawn = exit.bounds;
  result.likely_withdrawn = LikelyBefore(exit.bounds, rules.typical_delay);
  return result;
}

}  // namespace phantomd
