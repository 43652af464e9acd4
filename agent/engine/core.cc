#include "agent/engine/core.h"

#include <algorithm>
#include <utility>

namespace phantomd {
namespace {

constexpr Nanos kHousekeeping = std::chrono::seconds(1);
constexpr Nanos kCompaction = std::chrono::minutes(1);
// Connections of a proxy that is gone are judged and counted for this long; so long are nodes
// remembered as silent.
constexpr Nanos kGoneMemory = std::chrono::minutes(10);
// No memory but that of the horizon is longer.
constexpr Nanos kLongestMemory = std::chrono::hours(1);

Lifecycle::Options LifecycleOptions(const Header& header) {
  const Settings& settings = header.settings;
  Lifecycle::Options options;
  options.feed_delay = settings.feed_delay;
  options.typical_delay = settings.typical_delay;
  options.clock_error = settings.clock_error;
  options.all_pods = settings.pod_scope != "endpointslices";
  options.node_name = header.node_name;
  for (const std::string& cidr : settings.pod_cidrs) {
    if (auto range = IpPrefix::Parse(cidr); range.ok()) options.pod_ranges.push_back(*range);
  }
  return options;
}

}  // namespace

Core::Core(const Header& header, BootTime started, Engine::Options options,
           Engine::JudgedSink judged)
    : header_(header),
      started_(started),
      options_(options),
      judged_(std::move(judged)),
      lifecycle_(LifecycleOptions(header), header.offset),
      clock_(header.offset),
      ledger_({.ring = options.ring,
               .max_cells = options.max_metric_cells,
               .typical_delay = header.settings.typical_delay}),
      judge_({.settings = header_.settings,
              .lifecycle = lifecycle_,
              .belief = belief_,
              .proxies = proxies_,
              .mesh_cluster = mesh_cluster_,
              .silence = silence_}),
      planner_(belief_,
               [this](const ProxyId& proxy, const SocketAddr& address) {
                 return TellsOfDeparture(judge_.Suppose(proxy, address, now_).destination);
               }),
      counting_since_(started),
      now_(started),
      last_input_(started),
      next_housekeeping_(started + kHousekeeping),
      next_compaction_(started + kCompaction) {
  belief_.SetWallOffset(header.offset);
  for (const std::string& cidr : header.settings.pod_cidrs) {
    if (!IpPrefix::Parse(cidr).ok()) ++lost_["pod_cidr_unreadable"];
  }
}

void Core::Apply(const Input& input) {
  RunUntil(input.observed);
  now_ = std::max(now_, input.observed);
  last_input_ = now_;
  std::visit([&](const auto& value) { On(value, input.observed); }, input.value);
}

void Core::RunUntil(BootTime t) {
  for (;;) {
    const BootTime until = std::min(t, next_housekeeping_);
    if (const std::optional<Ticket> ticket = held_.FirstDue(until)) {
      Decide(*ticket, held_.Get(*ticket).next, false);
    } else if (const std::optional<EndQueue::Number> end = ends_.FirstDue(until)) {
      DecideEnd(*end, ends_.Get(*end).next);
    } else if (next_housekeeping_ <= t) {
      SkipSilence(t);
      KeepHouse(next_housekeeping_);
      next_housekeeping_ += kHousekeeping;
    } else {
      break;
    }
  }
  if (t != BootTime::Max()) now_ = std::max(now_, t);
}

// Once all that time alone can change has changed, the last minute of housekeeping does what each
// of many would: a recording may be silent for months.
void Core::SkipSilence(BootTime t) {
  const Nanos horizon = std::max(header_.settings.horizon, Nanos(0));
  const BootTime settled = last_input_ + horizon + horizon + kLongestMemory;
  if (t == BootTime::Max() || next_housekeeping_ < settled) return;
  if (held_.FirstDue(t).has_value() || ends_.FirstDue(t).has_value()) return;
  const Nanos skipped = (t - next_housekeeping_) / kCompaction * kCompaction;
  next_housekeeping_ += skipped;
  next_compaction_ += skipped;
}

void Core::Finish() {
  while (held_.size() > 0) Decide(held_.all().begin()->first, now_, true);
  while (ends_.size() > 0) DecideEnd(*ends_.Oldest(), BootTime::Max());
  ledger_.UpdateWindows(lifecycle_, belief_, now_);
}

Knowledge Core::knowledge() const {
  return {.header = header_,
          .offset = lifecycle_.wall_offset(),
          .clock = clock_,
          .started = counting_since_,
          .now = now_,
          .lifecycle = lifecycle_,
          .belief = belief_,
          .ledger = ledger_,
          .proxies = proxies_,
          .planner = planner_,
          .judge = judge_,
          .held = held_,
          .ends = ends_,
          .lost = lost_,
          .losses = losses_,
          .feeds = FeedsNow(),
          .late = late_.counts(),
          .departed = departed_};
}

void Core::Decide(Ticket ticket, BootTime at, bool now_or_never) {
  HeldAttempt& held = held_.Get(ticket);
  const ProxyId waited_for = held.waits.poll;
  const AttemptJudge::Decision decision = judge_.Decide(held, at, now_or_never);
  const ProxyId& waits_for = decision.waits.poll;
  if (decision.wait) {
    held_.Wait(ticket, decision.until, decision.waits);
    if (!waits_for.empty()) planner_.SetAnswerAfter(waits_for, held_.PollNeededAfter(waits_for));
  } else {
    Count(held.attempt, decision, at);
    held_.Remove(ticket);
  }
  if (!waited_for.empty() && waited_for != waits_for) {
    planner_.SetAnswerAfter(waited_for, held_.PollNeededAfter(waited_for));
  }
}

void Core::DecideAll(const std::vector<Ticket>& tickets, BootTime at) {
  for (const Ticket ticket : tickets) Decide(ticket, at, false);
}

void Core::Count(const Attempt& attempt, const AttemptJudge::Decision& decision, BootTime at) {
  std::optional<Attempt> resolved;
  if (attempt.initiator != decision.origin.initiator) {
    resolved = attempt;
    resolved->initiator = decision.origin.initiator;
  }
  const Attempt& counted = resolved ? *resolved : attempt;
  if (decision.not_judged) return ledger_.CountNotJudged(counted);
  const Verdict& verdict = decision.verdict;
  ledger_.Count(counted, decision.origin.proxy, verdict, lifecycle_, at);
  if (verdict.last_holder != PodHandle::kNone) departed_.insert(verdict.last_holder);
  ++judged_so_far_;
  if (!judged_) return;
  Connection connection = ConnectionOf(counted, decision.origin.proxy, verdict, lifecycle_, at);
  connection.sequence = judged_so_far_;
  judged_(connection);
}

void Core::DecideEnd(EndQueue::Number number, BootTime at) {
  const EndQueue::Decision decision =
      EndQueue::Decide(ends_.Get(number), at, judge_.broken_since(), header_.settings, lifecycle_);
  if (decision.wait) return ends_.Wait(number, decision);
  const HeldEnd held = ends_.Take(number);
  if (!decision.stranded) return;
  ledger_.CountStranded(held.end, decision.stranded->pod, decision.stranded->after);
}

void Core::DecideEnds(const std::vector<EndQueue::Number>& numbers, BootTime at) {
  for (const EndQueue::Number number : numbers) DecideEnd(number, at);
}

// What was lost is named by whoever lost it: a bounded number of names is told apart.
std::string Core::CountLost(const std::string& what, uint64_t count) {
  constexpr size_t kNames = 100;
  const std::string name = lost_.size() < kNames || lost_.contains(what) ? what : "other";
  lost_[name] += count;
  return name;
}

void Core::Forget(BootTime horizon) {
  lifecycle_.Compact(horizon);
  belief_.Compact(horizon);
  proxies_.Compact(horizon + header_.settings.horizon - kGoneMemory);
  losses_.Compact(horizon, [&](const ProxyId& id) { return proxies_.Find(id) != nullptr; });
}

void Core::KeepHouse(BootTime at) {
  ledger_.UpdateWindows(lifecycle_, belief_, at);
  if (at < next_compaction_) return;
  next_compaction_ = at + kCompaction;
  const BootTime horizon = at - header_.settings.horizon;
  compacted_to_ = horizon;
  Forget(horizon);
  ledger_.Compact(horizon, at);
  silence_.Compact(at - kGoneMemory);
  std::erase_if(departed_, [&](PodHandle pod) { return lifecycle_.Pod(pod) == nullptr; });
}

}  // namespace phantomd
