#include "tests/testing/scene.h"

#include <algorithm>
#include <cmath>

#include "agent/base/check.h"

namespace phantomd::testing {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr Nanos kRecordDelay = std::chrono::milliseconds(20);
constexpr Nanos kPollTime = std::chrono::milliseconds(4);

}  // namespace

BootTime Seconds(double seconds) {
  return BootTime::FromNanos(static_cast<int64_t>(std::llround(seconds * 1e9)));
}

IpAddr Ip(const std::string& text) {
  auto ip = IpAddr::Parse(text);
  PHANTOMD_CHECK(ip.ok());
  return *ip;
}

Scene::Scene() {
  header.offset = WallOffset(std::chrono::seconds(1'800'000'000));
  header.node_name = "node-1";
  header.agent_version = "scene";
}

ProxyId Scene::ProxyIdOf(const std::string& pod) { return ProxyId("proxy-" + pod); }
PodUid Scene::UidOf(const std::string& pod) { return PodUid("uid-" + pod); }

Scene& Scene::At(double seconds) {
  now_ = Seconds(seconds);
  return *this;
}

WallTime Scene::WallSecondNow() const {
  const int64_t nanos = header.offset.ToWall(now_).nanos();
  return WallTime::FromNanos(nanos - nanos % kSecond);
}

Scene& Scene::Tell(Edge edge, decltype(Input::value) value) {
  events_.push_back({edge, {now_, std::move(value)}});
  return *this;
}

Scene& Scene::Add(Edge edge, Input input) {
  events_.push_back({edge, std::move(input)});
  return *this;
}

PodChange& Scene::PodState(const std::string& pod) {
  const auto it = pods_.find(pod);
  PHANTOMD_CHECK(it != pods_.end());
  return it->second;
}

Scene& Scene::Synced() {
  for (const Feed feed : {Feed::kPods, Feed::kSlices, Feed::kNodes}) {
    FeedIs(feed, FeedState::kSynced);
  }
  return *this;
}

Scene& Scene::FeedIs(Feed feed, FeedState state, double good_until) {
  FeedChange change{.feed = feed, .state = state};
  if (state == FeedState::kBroken) change.good_until = Seconds(good_until);
  return Tell(Edge::kKube, change);
}

Scene& Scene::Runs(PodSpec spec) {
  PodChange pod;
  pod.pod = {.uid = UidOf(spec.name),
             .ns = spec.ns,
             .name = spec.name,
             .workload = {.ns = spec.ns, .kind = "Deployment", .name = spec.workload},
             .revision = spec.revision,
             .node_name = spec.node};
  pod.ips = {Ip(spec.ip)};
  pod.phase = PodPhase::kRunning;
  pod.ready = true;
  pod.created = WallSecondNow();
  pods_[spec.name] = pod;
  return Tell(Edge::kKube, pod);
}

Scene& Scene::Terminates(const std::string& name) {
  PodChange& pod = PodState(name);
  pod.deletion_requested = WallSecondNow();
  return Tell(Edge::kKube, pod);
}

Scene& Scene::Finishes(const std::string& name) {
  PodChange& pod = PodState(name);
  pod.containers_finished = WallSecondNow();
  pod.ready = false;
  return Tell(Edge::kKube, pod);
}

Scene& Scene::Deleted(const std::string& name) {
  PodChange& pod = PodState(name);
  pod.deleted = true;
  return Tell(Edge::kKube, pod);
}

Scene& Scene::Relisted(const std::string& name) { return Tell(Edge::kKube, PodState(name)); }

Scene& Scene::MissedDeletion(const std::string& name, double not_before) {
  PodChange& pod = PodState(name);
  pod.deleted = true;
  pod.not_before = Seconds(not_before);
  return Tell(Edge::kKube, pod);
}

Scene& Scene::Slice(const std::string& service, const std::vector<std::string>& ready,
                    const std::vector<std::string>& terminating) {
  SliceChange slice;
  slice.ns = "shop";
  slice.name = service + "-1";
  slice.service = service;
  slice.ports = {{.name = "http", .port = kPort}};
  const auto add = [&](const std::string& name, bool is_ready) {
    slice.endpoints.push_back({.addresses = PodState(name).ips,
                               .ready = is_ready,
                               .serving = true,
                               .terminating = !is_ready,
                               .pod_uid = UidOf(name)});
  };
  for (const std::string& name : ready) add(name, true);
  for (const std::string& name : terminating) add(name, false);
  return Tell(Edge::kKube, slice);
}

Scene& Scene::Node(const std::string& name, bool ready, const std::string& pod_cidr,
                   const std::string& address) {
  NodeChange node{.name = name, .ready = ready, .last_heartbeat = WallSecondNow()};
  if (!pod_cidr.empty()) node.pod_cidrs = {pod_cidr};
  if (!address.empty()) node.addresses = {Ip(address)};
  return Tell(Edge::kKube, node);
}

Scene& Scene::Ends(const std::string& pod, double ended) {
  return Tell(Edge::kProbe, PodEnd{.pod_uid = UidOf(pod),
                                   .ips = PodState(pod).ips,
                                   .ended = Seconds(ended),
                                   .evidence = "network namespace"});
}

Scene& Scene::Proxy(const std::string& pod) {
  ProxyChange change;
  change.proxy.id = ProxyIdOf(pod);
  change.proxy.role = ProxyRole::kSidecar;
  change.proxy.pod.uid = UidOf(pod);
  change.proxy.envoy_node_id = "sidecar~" + pod;
  return Tell(Edge::kProbe, change);
}

Scene& Scene::ProxyGone(const std::string& pod) {
  ProxyChange change;
  change.proxy.id = ProxyIdOf(pod);
  change.gone = true;
  return Tell(Edge::kProbe, change);
}

Scene& Scene::Polled(const std::string& proxy, const std::vector<PolledCluster>& clusters) {
  BeliefSnapshot snapshot;
  snapshot.proxy_id = ProxyIdOf(proxy);
  snapshot.requested = now_ - kPollTime;
  snapshot.received = now_;
  snapshot.complete = true;
  for (const PolledCluster& polled : clusters) {
    BeliefSnapshot::Cluster& cluster = snapshot.clusters.emplace_back();
    cluster.name = polled.service.empty()
                       ? "static"
                       : "outbound|8080||" + polled.service + ".shop.svc.cluster.local";
    if (!polled.service.empty()) cluster.service = "shop/" + polled.service;
    cluster.discovery = polled.discovery;
    cluster.layer = polled.layer;
    for (const std::string& ip : polled.ips) {
      cluster.endpoints.push_back(
          {.address = {Ip(ip), kPort}, .in_assignment = true, .in_host_set = true});
    }
    for (const std::string& ip : polled.held) {
      cluster.endpoints.push_back(
          {.address = {Ip(ip), kPort}, .in_host_set = true, .pending_removal = true});
    }
  }
  return Tell(Edge::kEnvoy, snapshot);
}

Scene& Scene::PollFails(const std::string& proxy, const std::string& error) {
  return Tell(Edge::kEnvoy, BeliefSnapshot{.proxy_id = ProxyIdOf(proxy),
                                           .requested = now_ - kPollTime,
                                           .received = now_,
                                           .error = error});
}

Scene& Scene::Connects(const std::string& proxy, const std::string& ip, Outcome outcome,
                       double seconds, Initiator initiator, uint32_t retransmits) {
  Attempt attempt;
  attempt.proxy_id = ProxyIdOf(proxy);
  attempt.initiator = initiator;
  attempt.source = {Ip("10.9.0.1"), static_cast<uint16_t>(20000 + cookie_ % 40000)};
  attempt.destination = {Ip(ip), kPort};
  attempt.started = now_;
  attempt.ended = now_ + Nanos(static_cast<int64_t>(std::llround(seconds * 1e9)));
  attempt.outcome = outcome;
  attempt.syn_retransmits = retransmits;
  attempt.socket_cookie = ++cookie_;
  return Add(Edge::kProbe, {attempt.ended + kRecordDelay, attempt});
}

Scene& Scene::Add(Attempt attempt, double observed) {
  return Add(Edge::kProbe, {Seconds(observed), std::move(attempt)});
}

std::vector<Scene::Event> Scene::Events() const {
  std::vector<Event> events = events_;
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    if (a.input.observed != b.input.observed) return a.input.observed < b.input.observed;
    return a.edge < b.edge;
  });
  return events;
}

}  // namespace phantomd::testing
