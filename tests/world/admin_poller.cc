#include "tests/world/admin_poller.h"

#include <algorithm>

namespace phantomd::world {
namespace {

constexpr Nanos kSlow = std::chrono::seconds(15);
constexpr Nanos kFast = std::chrono::milliseconds(50);
constexpr double kShare = 0.02;
constexpr double kBurst = 1.2;
constexpr double kKept = kBurst / 4;

}  // namespace

AdminPoller::AdminPoller(const Scenario& scenario, Agenda& agenda, AgentInbox& inbox, Random random)
    : scenario_(scenario), agenda_(agenda), inbox_(inbox), random_(std::move(random)) {}

void AdminPoller::Add(SimulatedProxy& proxy) {
  State& state = states_.emplace_back();
  state.proxy = &proxy;
  state.id = ProxyId(proxy.id());
  state.tokens_at = agenda_.now();
}

void AdminPoller::Remove(const SimulatedProxy& proxy) {
  for (State& state : states_) {
    if (state.proxy == &proxy) state.proxy = nullptr;
  }
}

void AdminPoller::Run() {
  for (State& state : states_) {
    if (state.proxy != nullptr && !state.outstanding) Consider(state);
  }
  agenda_.In(Span(0.005), [this] { Run(); });
}

void AdminPoller::Consider(State& state) {
  const BootTime now = agenda_.now();
  if (now < state.next_any) return;
  const auto& demanded = inbox_.engine().demand().proxies;
  const auto it = demanded.find(state.id);
  const bool fast = it != demanded.end() && it->second.fast;
  const BootTime after = it != demanded.end() ? it->second.answer_after : BootTime();
  const bool awaited = after.is_set() && after > state.answered_until && now >= after;
  state.tokens = std::min(kBurst, state.tokens + kShare * SecondsOf(now - state.tokens_at));
  state.tokens_at = now;
  const bool ordinary = (now >= state.next_slow || fast) && state.tokens > kKept;
  if (ordinary || (awaited && state.tokens > 0)) {
    Poll(state);
  } else if (awaited && state.tokens < -2 * kShare) {
    // It would take more than two seconds until the budget allows it: that is an answer too.
    state.answered_until = after;
    Fail(state, now, "poll refused");
  }
}

void AdminPoller::Poll(State& state) {
  const BootTime requested = agenda_.now();
  state.outstanding = true;
  state.next_any = requested + kFast;
  if (requested >= state.next_slow) state.next_slow = requested + kSlow;
  const Nanos queued = random_.Delay(0.0005, 1, 0.3);  // behind what the main thread does
  const Nanos served = random_.Delay(0.0015, 0.5, 0.02);
  state.tokens -= SecondsOf(served);
  const bool fails = random_.Chance(scenario_.poll_failures);
  agenda_.In(queued + served / 2, [this, &state, requested, served, fails] {
    if (state.proxy == nullptr) return;
    std::vector<BeliefSnapshot::Cluster> view;
    if (!fails) view = state.proxy->View();
    agenda_.In(served / 2, [this, &state, requested, fails, view = std::move(view)] {
      if (state.proxy == nullptr) return;
      state.outstanding = false;
      state.answered_until = std::max(state.answered_until, requested);
      if (fails) {
        state.next_any = agenda_.now() + Span(0.1);
        Fail(state, requested, "timed out");
      } else {
        Answer(state, requested, view);
      }
    });
  });
}

void AdminPoller::Fail(State& state, BootTime requested, const std::string& error) {
  BeliefSnapshot snapshot;
  snapshot.proxy_id = state.id;
  snapshot.requested = requested;
  snapshot.received = agenda_.now();
  snapshot.error = error;
  state.complete_next = true;
  inbox_.Learn(Edge::kEnvoy, std::move(snapshot));
}

void AdminPoller::Answer(State& state, BootTime requested,
                         std::vector<BeliefSnapshot::Cluster> view) {
  BeliefSnapshot snapshot;
  snapshot.proxy_id = state.id;
  snapshot.requested = requested;
  snapshot.received = agenda_.now();
  snapshot.complete = state.complete_next;
  if (snapshot.complete) state.told.clear();
  state.complete_next = false;
  for (BeliefSnapshot::Cluster& cluster : view) {
    BeliefSnapshot::Cluster& told = state.told[cluster.name];
    if (!snapshot.complete && told == cluster) continue;
    told = cluster;
    snapshot.clusters.push_back(std::move(cluster));
  }
  inbox_.Learn(Edge::kEnvoy, std::move(snapshot));
}

}  // namespace phantomd::world
