// What each kind of input does to the core.
#include <algorithm>

#include "agent/engine/core.h"

namespace phantomd {

void Core::On(const ProxyChange& change, BootTime at) {
  const ProxyId& id = change.proxy.id;
  if (proxies_.Apply(change, at, lifecycle_)) ledger_.ProxyReturned(id);
  if (!change.gone) return;
  belief_.Gone(id, at);
  ledger_.ProxyGone(id, at);
  // Nobody will answer the polls that were waited for.
  DecideAll(held_.WokenByPoll(id), at);
  planner_.ProxyGone(id);
}

void Core::On(const Attempt& attempt, BootTime at) {
  const BootTime end = std::max(attempt.started, attempt.ended);
  const BootTime due = end + header_.settings.judgement_delay;
  if (at > due) LateAt(at).Count("attempt");
  if (attempt.initiator == Initiator::kIntercepted ||
      attempt.initiator == Initiator::kProxyControl) {
    ledger_.CountNotJudged(attempt);  // no news changes that: nothing to wait for
    return;
  }
  held_.Add(attempt, at, due);
  while (held_.size() > options_.max_held) {
    LateAt(at).Count("attempt_judged_early");
    Decide(held_.all().begin()->first, at, true);
  }
}

void Core::On(const ConnectionEnd& end, BootTime at) {
  const BootTime due = end.ended + header_.settings.judgement_delay;
  if (at > due) LateAt(at).Count("connection_end");
  if (end.initiator == Initiator::kIntercepted || end.initiator == Initiator::kProxyControl) return;
  // A FIN strands nobody: most ends need not wait.
  if (end.how == ConnectionEnd::How::kClosed || end.how == ConnectionEnd::How::kUnspecified) return;
  ends_.Add({.end = end, .observed = at, .next = std::max(due, at)});
  while (ends_.size() > options_.max_held) {
    LateAt(at).Count("connection_end_judged_early");
    DecideEnd(*ends_.Oldest(), BootTime::Max());
  }
}

void Core::On(const PodChange& change, BootTime at) {
  const LateNews::PodBefore before = LateNews::Before(change, lifecycle_);
  const TouchedAddresses touched = lifecycle_.Apply(change, at);
  LateAt(at).PodApplied(change, before, lifecycle_, judge_.WatermarkAt(at));
  proxies_.PodTold(change.pod.uid, lifecycle_);
  Touched(touched, at);
}

void Core::On(const SliceChange& change, BootTime at) {
  LateAt(at).Happened("slice", change.not_before, judge_.WatermarkAt(at));
  Touched(lifecycle_.Apply(change, at), at);
}

void Core::On(const FeedChange& change, BootTime at) {
  // It went on for a while as if nothing had happened.
  if (change.state == FeedState::kBroken) {
    LateAt(at).Happened("feed", change.good_until, judge_.WatermarkAt(at));
  }
  lifecycle_.Apply(change, at);
  judge_.FeedsChanged();
  DecideAll(held_.WokenByFeed(), at);
  DecideEnds(ends_.WokenByFeed(), at);
}

void Core::On(const BeliefSnapshot& snapshot, BootTime at) {
  LateAt(at).Happened("belief", snapshot.requested, judge_.WatermarkAt(at));
  const std::vector<SocketAddr> appeared = belief_.Apply(snapshot);
  mesh_cluster_.Learn(snapshot, lifecycle_);
  planner_.Applied(snapshot.proxy_id, appeared);
  DecideAll(held_.WokenByPoll(snapshot.proxy_id), at);
}

void Core::On(const Loss& loss, BootTime at) {
  if (loss.count > 0) {
    Loss known = loss;
    known.what = CountLost(loss.what, loss.count);
    known.count_unknown = false;
    losses_.Add(known, at);
  }
  // How many is not known: the span is counted instead, apart from the rest.
  if (loss.count_unknown) {
    CountLost(loss.what + "_spans_unknown", 1);
    Loss unknown = loss;
    unknown.count = 0;
    losses_.Add(unknown, at);
  }
  if (loss.what == "belief" && !loss.proxy_id.empty()) {
    belief_.Lost(loss.proxy_id, loss.from, loss.to);
  }
}

void Core::On(const NodeChange& change, BootTime at) {
  LateAt(at).Happened("node", change.not_before, judge_.WatermarkAt(at));
  const TouchedAddresses touched = lifecycle_.Apply(change, at);
  silence_.Apply(change, at);
  Touched(touched, at);
  if (!change.ready || change.deleted) DecideAll(held_.WokenByNodes(), at);
}

void Core::On(const PodEnd& end, BootTime at) {
  LateAt(at).Happened("pod_end", end.ended, judge_.WatermarkAt(at));
  Touched(lifecycle_.Apply(end, at), at);
}

void Core::On(const ClockChange& change, BootTime at) {
  clock_.Changed(at, change.offset);
  lifecycle_.SetWallOffset(change.offset);
  belief_.SetWallOffset(change.offset);
}

void Core::Touched(const TouchedAddresses& addresses, BootTime at) {
  for (const IpAddr& ip : addresses) {
    planner_.AddressTouched(ip);
    DecideAll(held_.WokenByAddress(ip), at);
    DecideEnds(ends_.WokenByAddress(ip), at);
  }
}

}  // namespace phantomd
