#include "agent/envoy/envoy_edge.h"

#include <algorithm>
#include <utility>

#include "agent/base/check.h"
#include "agent/base/strings.h"
#include "agent/envoy/bootstrap.h"

namespace phantomd {

EnvoyEdge::EnvoyEdge(EnvoyEdgeOptions options, const Clock& clock, AdminSocketsOf sockets_of,
                     Mailbox<AdminChange>& targets, const Published<PollDemand>& demand,
                     Mailbox<EdgePost>& core)
    : options_(std::move(options)),
      clock_(clock),
      sockets_of_(std::move(sockets_of)),
      targets_(targets),
      demand_(demand),
      core_(core),
      client_(options_.client, clock),
      scheduler_(options_.pace) {}

EnvoyEdge::~EnvoyEdge() { Stop(); }

void EnvoyEdge::Start() {
  PHANTOMD_CHECK(!thread_.joinable());
  thread_ = std::thread([this] { Run(); });
}

void EnvoyEdge::Stop() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  client_.Wake();
  thread_.join();
}

void EnvoyEdge::Wake() {
  woken_ = true;
  client_.Wake();
}

void EnvoyEdge::Run() {
  while (!stopping_.load()) {
    TakeTargets();
    TakeDemand();
    PollScheduler::Due due = scheduler_.Take(clock_.Now());
    for (const PollScheduler::Refusal& refusal : due.refusals) {
      PostFailure(refusal.proxy, clock_.Now(), absl::AbortedError(ToAbsl(refusal.reason)));
    }
    for (const PollScheduler::Poll& poll : due.polls) StartPoll(poll);
    const BootTime now = clock_.Now();
    const bool woken = woken_.exchange(false);
    if (woken || mark_is_due_ || now >= last_mark_ + options_.low_mark_interval) {
      PostLowMark(now);
      PublishStats();
    }
    const BootTime wake =
        std::min(scheduler_.NextWake(now), last_mark_ + options_.low_mark_interval);
    for (AdminReply& reply : client_.Wait(std::max(wake - clock_.Now(), Nanos(0)))) {
      OnReply(std::move(reply));
    }
  }
  while (!watched_.empty()) Forget(ProxyId(watched_.begin()->first));
  PublishStats();
  PostLowMark(BootTime::Max());
}

void EnvoyEdge::TakeTargets() {
  for (AdminChange& change : targets_.TakeAll()) {
    if (change.gone) {
      Forget(change.target.proxy.id);
    } else {
      Register(std::move(change.target));
    }
  }
}

void EnvoyEdge::TakeDemand() {
  auto demand = demand_.Get();
  if (demand == seen_demand_) return;
  scheduler_.SetDemand(*demand, clock_.Now());
  seen_demand_ = std::move(demand);
}

void EnvoyEdge::Register(AdminTarget target) {
  const ProxyId id = target.proxy.id;
  if (const auto known = watched_.find(id); known != watched_.end()) {
    AdminTarget& before = known->second.target;
    if (before.pid == target.pid && before.bootstrap_path == target.bootstrap_path &&
        before.bootstrap_inline == target.bootstrap_inline) {
      if (known->second.conversation.has_value()) known->second.conversation->Update(target.proxy);
      before = std::move(target);
      return;
    }
    Forget(id);
  }
  watched_[id].target = std::move(target);
  scheduler_.Add(id, clock_.Now());
}

void EnvoyEdge::Forget(const ProxyId& proxy) {
  const auto it = watched_.find(proxy);
  if (it == watched_.end()) return;
  if (it->second.token != 0) {
    client_.Cancel(it->second.token);
    requests_.erase(it->second.token);
  }
  watched_.erase(it);
  scheduler_.Remove(proxy);
  stats_changed_ |= stats_.limitations.erase(proxy) > 0;
}

absl::Status EnvoyEdge::OpenConversation(Watched& watched) {
  const AdminTarget& target = watched.target;
  auto candidates = AdminCandidates(target.pid, target.bootstrap_path, target.bootstrap_inline,
                                    options_.admin_ports);
  if (!candidates.ok()) return candidates.status();
  if (candidates->empty()) {
    return absl::UnavailableError(
        "no bootstrap tells its admin address, and no port is to be tried");
  }
  auto sockets = sockets_of_(target.pid);
  if (!sockets.ok()) return sockets.status();
  watched.sockets = *std::move(sockets);
  watched.conversation.emplace(target.proxy, *std::move(candidates));
  return absl::OkStatus();
}

void EnvoyEdge::StartPoll(const PollScheduler::Poll& poll) {
  Watched& watched = watched_.at(poll.proxy);
  const BootTime begun = clock_.Now();
  watched.served = Nanos(0);
  if (!watched.conversation.has_value()) {
    if (const absl::Status status = OpenConversation(watched); !status.ok()) {
      PostFailure(poll.proxy, begun, status);
      scheduler_.Finished(poll.proxy, begun, clock_.Now(), Nanos(0), false);
      return;
    }
  }
  watched.conversation->Begin(poll.kind, begun);
  SendRequest(watched);
}

void EnvoyEdge::SendRequest(Watched& watched) {
  const ProxyConversation::Request request = watched.conversation->Next();
  watched.token = ++last_token_;
  requests_.emplace(watched.token, watched.target.proxy.id);
  client_.Get(watched.token, *watched.sockets, request.at, request.path);
}

void EnvoyEdge::OnReply(AdminReply reply) {
  const auto request = requests_.find(reply.token);
  PHANTOMD_CHECK(request != requests_.end());
  Watched& watched = watched_.at(request->second);
  requests_.erase(request);
  watched.token = 0;
  watched.served += reply.served;
  const WallTime received_wall = clock_.Offset().ToWall(reply.received);
  auto outcome = watched.conversation->OnReply(std::move(reply), received_wall);
  if (outcome.has_value()) {
    FinishPoll(watched, *std::move(outcome));
  } else {
    SendRequest(watched);
  }
}

void EnvoyEdge::FinishPoll(Watched& watched, ProxyConversation::Outcome outcome) {
  const ProxyId id = watched.target.proxy.id;
  if (outcome.identity.has_value()) PostInput(*std::move(outcome.identity));
  scheduler_.Finished(id, outcome.snapshot.requested, clock_.Now(), watched.served,
                      outcome.status.ok());
  if (outcome.poll_soon) scheduler_.PollSoon(id);
  stats_.Observe(watched.served);
  if (!outcome.status.ok()) ++stats_.errors[std::string(AdminErrorKind(outcome.status))];
  if (std::string limitation = watched.conversation->limitation(); !limitation.empty()) {
    stats_.limitations[id] = std::move(limitation);
  } else {
    stats_.limitations.erase(id);
  }
  stats_changed_ = true;
  // Where no Envoy has answered yet, the bootstrap may have been read too early.
  if (!outcome.status.ok() && !watched.conversation->identified()) watched.conversation.reset();
  PostInput(std::move(outcome.snapshot));
}

void EnvoyEdge::PostFailure(const ProxyId& proxy, BootTime at, const absl::Status& status) {
  ++stats_.errors[std::string(AdminErrorKind(status))];
  stats_changed_ = true;
  BeliefSnapshot snapshot;
  snapshot.proxy_id = proxy;
  snapshot.requested = at;
  snapshot.received = clock_.Now();
  snapshot.error = FromAbsl(status.message());
  PostInput(std::move(snapshot));
}

void EnvoyEdge::PostInput(decltype(Input::value) value) {
  core_.Post(EdgePost{Edge::kEnvoy, Input{clock_.Now(), std::move(value)}});
  mark_is_due_ = true;
}

void EnvoyEdge::PostLowMark(BootTime mark) {
  core_.Post(EdgePost{Edge::kEnvoy, mark});
  last_mark_ = mark;
  mark_is_due_ = false;
}

void EnvoyEdge::PublishStats() {
  if (!stats_changed_) return;
  published_stats_.Set(std::make_shared<const AdminPollStats>(stats_));
  stats_changed_ = false;
}

}  // namespace phantomd
