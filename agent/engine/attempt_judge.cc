#include "agent/engine/attempt_judge.h"

#include <algorithm>

#include "agent/verdict/possibilities.h"

namespace phantomd {
namespace {

BootTime EndOf(const Attempt& attempt) { return std::max(attempt.started, attempt.ended); }

bool WorthWaiting(const Wants& wants) { return wants.pod_end || wants.node_news || wants.poll; }

}  // namespace

void AttemptJudge::FeedsChanged() {
  broken_since_ = BootTime::Max();
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    const Lifecycle::FeedFacts facts = world_.lifecycle.feed(feed);
    // Before its first sync a feed is not broken: those instants lie before the horizon.
    if (facts.ever_synced && !facts.synced) {
      broken_since_ = std::min(broken_since_, facts.good_until);
    }
  }
}

BootTime AttemptJudge::WatermarkAt(BootTime at) const {
  return std::min(at - world_.settings.judgement_delay, broken_since_);
}

JudgeContext AttemptJudge::Context() const {
  JudgeContext context;
  context.typical_delay = world_.settings.typical_delay;
  context.mesh_cluster = world_.mesh_cluster.name();
  return context;
}

AttemptJudge::Decision AttemptJudge::Decide(HeldAttempt& held, BootTime at, bool now_or_never) {
  Decision out;
  const BootTime end = EndOf(held.attempt);
  const bool behind_gap = end > broken_since_;
  out.origin = world_.proxies.OriginOf(held.attempt);
  if (out.origin.initiator == Initiator::kIntercepted ||
      out.origin.initiator == Initiator::kProxyControl) {
    out.not_judged = true;
    return out;
  }
  std::optional<Attempt> resolved;
  if (held.attempt.initiator != out.origin.initiator) {
    resolved = held.attempt;
    resolved->initiator = out.origin.initiator;
  }
  const Attempt& attempt = resolved ? *resolved : held.attempt;
  const ProxyId& proxy = out.origin.proxy != nullptr ? out.origin.proxy->id : attempt.proxy_id;

  JudgeContext context = Context();
  context.before_watermark = behind_gap || at < held.due;
  Judgement judgement = JudgeWithNodeNews(attempt, proxy, context);
  if (!held.first_tried.is_set()) held.first_tried = at;
  const ProxyTable::Entry* entry = world_.proxies.Find(proxy);
  const bool can_answer = entry == nullptr || !entry->gone.is_set();
  Wants wants = judgement.wants;
  wants.poll = wants.poll && can_answer && at < held.first_tried + world_.settings.max_hold;
  // What was told late has not waited yet.
  const BootTime gap_limit = std::max(end, held.observed) + world_.settings.max_gap_hold;
  if (behind_gap && !now_or_never && at < gap_limit) {
    out.wait = true;
    out.until = gap_limit;
    out.waits.feed = true;
    if (wants.poll) out.waits.poll = proxy;
    return out;
  }
  if (!held.silence_told) {
    held.silence_told = true;
    RecordSilence(attempt, judgement.verdict);
  }
  const BootTime limit = held.first_tried + world_.settings.max_hold;
  if (WorthWaiting(wants) && !now_or_never && at < limit) {
    out.wait = true;
    out.until = limit;
    out.waits = {.address = wants.pod_end, .nodes = wants.node_news};
    if (wants.poll) out.waits.poll = proxy;
    return out;
  }
  if (judgement.wants.poll) {
    context.poll_missing = true;
    judgement = JudgeWithNodeNews(attempt, proxy, context);
  }
  out.verdict = judgement.verdict;
  return out;
}

Judgement AttemptJudge::JudgeWithNodeNews(const Attempt& attempt, const ProxyId& proxy,
                                          JudgeContext& context) {
  Judgement judgement = Judge(attempt, proxy, world_.lifecycle, world_.belief, context);
  if (context.node_fell_silent || !NeverAnswered(attempt)) return judgement;
  const std::string_view node = world_.lifecycle.NodeOf(judgement.verdict.current_holder);
  if (node.empty() || !world_.silence.FellSilent(node, attempt.started)) {
    return judgement;
  }
  context.node_fell_silent = true;
  return Judge(attempt, proxy, world_.lifecycle, world_.belief, context);
}

void AttemptJudge::RecordSilence(const Attempt& attempt, const Verdict& verdict) {
  const bool answered =
      attempt.outcome == Outcome::kEstablished || attempt.outcome == Outcome::kRefused;
  if (!answered && !NeverAnswered(attempt)) return;
  // Who answered a retransmitted SYN may be another pod than the one that the first was sent to.
  const PodHandle holder = answered && verdict.holder_at_outcome != PodHandle::kNone
                               ? verdict.holder_at_outcome
                               : verdict.current_holder;
  const std::string_view node = world_.lifecycle.NodeOf(holder);
  if (node.empty()) return;
  if (answered) {
    world_.silence.Answered(holder, node, EndOf(attempt));
  } else {
    world_.silence.Unanswered(holder, node, attempt.started);
  }
}

Verdict AttemptJudge::Suppose(const ProxyId& proxy, const SocketAddr& address, BootTime at) const {
  Attempt attempt;
  attempt.initiator = Initiator::kProxy;
  attempt.destination = address;
  attempt.started = attempt.ended = at;
  return Judge(attempt, proxy, world_.lifecycle, world_.belief, Context()).verdict;
}

}  // namespace phantomd
