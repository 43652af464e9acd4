#include "agent/envoy/poll_scheduler.h"

#include <fmt/format.h>

#include <algorithm>

namespace phantomd {

void PollScheduler::Add(const ProxyId& proxy, BootTime now) {
  auto [it, added] = states_.try_emplace(proxy, AdminBudget(pace_.share, pace_.burst, now));
  if (!added) return;
  // A refusal that was given already is the answer to what was asked before the registration.
  if (const auto waiting = unknown_.find(proxy); waiting != unknown_.end()) {
    if (waiting->second.refused) it->second.answered_until = waiting->second.answer_after;
    unknown_.erase(waiting);
  }
  ApplyDemand(proxy, it->second);
}

void PollScheduler::Remove(const ProxyId& proxy) {
  const auto it = states_.find(proxy);
  if (it == states_.end()) return;
  if (it->second.answer_after.is_set()) {
    unknown_.insert_or_assign(proxy, Unknown{it->second.answer_after, BootTime::Min()});
  }
  states_.erase(it);
}

void PollScheduler::ApplyDemand(const ProxyId& proxy, State& state) {
  const auto wanted = demand_.proxies.find(proxy);
  state.fast = wanted != demand_.proxies.end() && wanted->second.fast;
  state.answer_after = BootTime();
  if (wanted == demand_.proxies.end() || !wanted->second.answer_after.is_set()) return;
  // The engine's demand may have been written before it saw the last answer.
  if (wanted->second.answer_after > state.answered_until) {
    state.answer_after = wanted->second.answer_after;
  }
}

void PollScheduler::SetDemand(const PollDemand& demand, BootTime now) {
  demand_ = demand;
  for (auto& [proxy, state] : states_) ApplyDemand(proxy, state);
  absl::btree_map<ProxyId, Unknown> unknown;
  for (const auto& [proxy, wanted] : demand_.proxies) {
    if (!wanted.answer_after.is_set() || states_.contains(proxy)) continue;
    Unknown& waiting = unknown[proxy];
    waiting = {wanted.answer_after, now + pace_.unknown_patience};
    const auto before = unknown_.find(proxy);
    if (before == unknown_.end()) continue;
    if (before->second.answer_after == wanted.answer_after) waiting = before->second;
    // A later attempt joins the wait; it does not prolong it.
    if (!before->second.refused) waiting.refuse_at = before->second.refuse_at;
  }
  unknown_ = std::move(unknown);
}

PollScheduler::Plan PollScheduler::PlanFor(const State& state, BootTime now) const {
  Plan plan;
  if (state.outstanding) return plan;
  const auto consider = [&](BootTime at, PollKind kind) {
    if (at < plan.at) plan = {at, kind};
  };
  const BootTime affordable = state.budget.AboveAt(state.budget.ordinary_floor(), now);
  // Slow before fast: at the same instant the fuller poll serves both.
  consider(std::max({state.slow_at, state.not_before, affordable}), PollKind::kSlow);
  if (state.fast || state.soon) {
    consider(std::max(state.not_before, affordable), PollKind::kFast);
  }
  if (state.answer_after.is_set()) {
    consider(std::max({state.answer_after, state.answer_from, state.budget.AboveAt(Nanos(0), now)}),
             PollKind::kAnswer);
  }
  return plan;
}

PollScheduler::Due PollScheduler::Take(BootTime now) {
  Due due;
  for (auto& [proxy, state] : states_) {
    const Plan plan = PlanFor(state, now);
    if (plan.at <= now) {
      state.outstanding = true;
      state.soon = false;
      state.not_before = now + pace_.fast;
      state.answer_from = now + pace_.fast;
      // A slow poll that the budget or a failure delayed is not made up for.
      if (plan.kind == PollKind::kSlow) state.slow_at = now + pace_.slow;
      due.polls.push_back({proxy, plan.kind});
      continue;
    }
    if (state.outstanding || !state.answer_after.is_set()) continue;
    // Refusals keep the pace of polls: attempts may come by the thousand.
    if (std::max(state.answer_after, state.answer_from) > now) continue;
    const Nanos wait = state.budget.AboveAt(Nanos(0), now) - now;
    if (wait <= pace_.answer_patience) continue;
    due.refusals.push_back(
        {proxy, fmt::format("poll refused: the proxy's admin time is spent for {:.1f} s more",
                            std::chrono::duration<double>(wait).count())});
    state.answered_until = std::max(state.answered_until, state.answer_after);
    state.answer_after = BootTime();
    state.answer_from = now + pace_.fast;
  }
  for (auto& [proxy, waiting] : unknown_) {
    if (waiting.refused || now < std::max(waiting.refuse_at, waiting.answer_after)) continue;
    waiting.refused = true;
    due.refusals.push_back({proxy, "poll refused: the proxy is gone or was never found"});
  }
  return due;
}

void PollScheduler::Finished(const ProxyId& proxy, BootTime requested, BootTime now, Nanos served,
                             bool ok) {
  const auto it = states_.find(proxy);
  if (it == states_.end()) return;
  State& state = it->second;
  state.outstanding = false;
  state.budget.Spend(served, now);
  state.answered_until = std::max(state.answered_until, requested);
  if (state.answer_after.is_set() && state.answer_after <= requested) {
    state.answer_after = BootTime();
  }
  if (ok) {
    state.backoff = Nanos(0);
    return;
  }
  state.backoff = std::clamp(state.backoff * 2, pace_.first_retry, pace_.slow);
  state.not_before = now + state.backoff;
  // After a failure the next belief is told whole.
  state.slow_at = state.not_before;
}

void PollScheduler::PollSoon(const ProxyId& proxy) {
  const auto it = states_.find(proxy);
  if (it != states_.end()) it->second.soon = true;
}

BootTime PollScheduler::NextWake(BootTime now) const {
  BootTime wake = BootTime::Max();
  for (const auto& [proxy, state] : states_) {
    wake = std::min(wake, PlanFor(state, now).at);
    // What the budget cannot give in time is refused when its turn comes.
    const BootTime answer_from = std::max(state.answer_after, state.answer_from);
    if (!state.outstanding && state.answer_after.is_set() && answer_from > now) {
      wake = std::min(wake, answer_from);
    }
  }
  for (const auto& [proxy, waiting] : unknown_) {
    if (!waiting.refused) {
      wake = std::min(wake, std::max(waiting.refuse_at, waiting.answer_after));
    }
  }
  return wake;
}

}  // namespace phantomd
