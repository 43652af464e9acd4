#include "tests/ledger/ledger_scene.h"

#include <utility>

#include "agent/base/check.h"

namespace phantomd::testing {

LedgerScene::LedgerScene(Ledger::Options options)
    : lifecycle({.feed_delay = std::chrono::seconds(2),
                 .typical_delay = std::chrono::milliseconds(100),
                 .clock_error = std::chrono::milliseconds(500)},
                WallOffset()),
      ledger(options) {
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    lifecycle.Apply(FeedChange{feed, FeedState::kSynced, BootTime()}, At(1));
  }
}

void LedgerScene::TellSlice(double t) {
  SliceChange slice;
  slice.ns = "shop";
  slice.name = "catalog-1";
  slice.service = "catalog";
  slice.ports = {{"http", 80}};
  for (const auto& [name, pod] : pods_) {
    if (pod.gone || pod.change.pod.workload.name != "catalog") continue;
    SliceChange::Endpoint& endpoint = slice.endpoints.emplace_back();
    endpoint.addresses = pod.change.ips;
    endpoint.ready = pod.ready;
    endpoint.terminating = !pod.ready;
    endpoint.pod_uid = pod.change.pod.uid;
  }
  lifecycle.Apply(slice, At(t));
}

void LedgerScene::Runs(double t, const std::string& name, const std::string& ip,
                       const std::string& revision, const std::string& workload) {
  Pod& pod = pods_[name];
  PodChange& change = pod.change;
  change.pod = {PodUid(name), "shop", name, {"shop", "Deployment", workload}, revision, "node-1"};
  change.ips = {Ip(ip)};
  change.phase = PodPhase::kRunning;
  change.ready = true;
  change.created = WallAt(t - 1);
  lifecycle.Apply(change, At(t));
  TellSlice(t);
}

void LedgerScene::Leaves(double t, const std::string& name) {
  Pod& pod = pods_.at(name);
  pod.ready = false;
  pod.change.deletion_requested = WallAt(static_cast<int64_t>(t));
  lifecycle.Apply(pod.change, At(t));
  TellSlice(t);
}

void LedgerScene::Dies(double t, const std::string& name) {
  Pod& pod = pods_.at(name);
  pod.gone = true;
  pod.change.containers_finished = WallAt(static_cast<int64_t>(t));
  pod.change.phase = PodPhase::kSucceeded;
  pod.change.ready = false;
  pod.change.deleted = true;
  lifecycle.Apply(pod.change, At(t));
  TellSlice(t);
}

BeliefScript& LedgerScene::Proxy(const std::string& id) {
  std::unique_ptr<BeliefScript>& proxy = proxies_[id];
  if (!proxy) {
    proxy = std::make_unique<BeliefScript>(belief, id);
    proxy->set_poll_seconds(0.01);
  }
  return *proxy;
}

void LedgerScene::ProxyEnds(double t, const std::string& id) {
  belief.Gone(ProxyId(id), At(t));
  ledger.ProxyGone(ProxyId(id), At(t));
}

phantomd::Proxy LedgerScene::Described(const std::string& id) const {
  phantomd::Proxy proxy;
  proxy.id = ProxyId(id);
  proxy.name = "shop/" + id;
  proxy.pod.ns = "shop";
  proxy.pod.name = id;
  proxy.pod.workload = {"shop", "Deployment", "webapp"};
  return proxy;
}

void LedgerScene::Count(const std::string& proxy, double t, const std::string& pod,
                        DestinationClass destination, const Facts& facts) {
  Attempt attempt;
  attempt.initiator = facts.initiator;
  attempt.started = At(t);
  attempt.ended = At(t + facts.wait);
  attempt.outcome = facts.outcome;
  attempt.destination = {Ip("10.0.0.1"), 80};
  Verdict verdict;
  verdict.destination = destination;
  verdict.certainty = Certainty::kCertain;
  if (!pod.empty()) {
    attempt.destination.ip = pods_.at(pod).change.ips.at(0);
    verdict.last_holder = Handle(pod);
    if (facts.withdrawn) verdict.withdrawn = At(t - 1);
    verdict.layer = Layer::kL4;
    verdict.cause = facts.cause;
  }
  const phantomd::Proxy described = Described(proxy);
  ledger.Count(attempt, proxy.empty() ? nullptr : &described, verdict, lifecycle,
               At(t + facts.wait + 3));
}

void LedgerScene::Update(double t) { ledger.UpdateWindows(lifecycle, belief, At(t)); }

const WorkloadChange& LedgerScene::ChangeOf(const std::string& pod, double now) {
  const WorkloadChange* change = lifecycle.ChangeOf(Handle(pod), At(now));
  PHANTOMD_CHECK(change != nullptr);
  return *change;
}

ChangeFigures LedgerScene::Figures(const std::string& pod, double now) {
  return ledger.FiguresOf(ChangeOf(pod, now), lifecycle, belief, At(now));
}

PodHandle LedgerScene::Handle(const std::string& pod) const {
  const PodHandle handle = lifecycle.FindPod(PodUid(pod));
  PHANTOMD_CHECK(handle != PodHandle::kNone);
  return handle;
}

}  // namespace phantomd::testing
