#include "tests/fuzz/random_inputs.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"

namespace phantomd::fuzz {
namespace {

constexpr int64_t kWallAhead = 1'800'000'000 * kSecond;
constexpr const char* kWorkloads[] = {"catalog", "cart", ""};
constexpr const char* kKinds[] = {"Deployment", "StatefulSet", "Job", "ReplicaSet"};
constexpr const char* kServices[] = {"catalog", "cart", "db"};
constexpr const char* kNodes[] = {"n1", "n2", ""};

}  // namespace

Header SomeHeader(ByteSource& bytes) {
  Header header;
  header.offset = WallOffset(Nanos(kWallAhead));
  header.node_name = "n1";
  Settings& settings = header.settings;
  if (bytes.OneIn(4)) settings.pod_scope = "endpointslices";
  if (bytes.OneIn(4)) settings.horizon = std::chrono::seconds(bytes.Byte());
  if (bytes.OneIn(4)) settings.judgement_delay = std::chrono::milliseconds(40 * bytes.Byte());
  if (bytes.OneIn(4)) settings.max_hold = std::chrono::seconds(bytes.Byte());
  if (bytes.OneIn(4)) settings.max_gap_hold = std::chrono::seconds(bytes.Byte());
  if (bytes.OneIn(4)) settings.feed_delay = std::chrono::milliseconds(20 * bytes.Byte());
  if (bytes.OneIn(4)) settings.pod_cidrs = {"10.0.0.0/30"};
  return header;
}

EdgePost RandomInputs::Next() {
  // Mostly at once or soon: the engine keeps house every second.
  constexpr int64_t kMilli = 1'000'000;
  constexpr int64_t kSteps[16] = {0,           0,           0,           0,
                                  0,           0,           kMilli,      kMilli,
                                  kMilli,      50 * kMilli, 50 * kMilli, kSecond / 2,
                                  kSecond / 2, kSecond,     4 * kSecond, 61 * kSecond};
  now_ += kSteps[bytes_.Choose(16)];
  const auto from = [&](Edge edge, decltype(Input::value) value) {  // may have moved time on
    return EdgePost{edge, Input{now(), std::move(value)}};
  };
  switch (bytes_.Choose(16)) {
    case 0:
    case 1:
    case 2:
      return from(Edge::kKube, Change());
    case 3:
    case 4:
      return from(Edge::kKube, Slice());
    case 5:
      return from(Edge::kKube, Feed());
    case 6:
      return from(Edge::kKube, Node());
    case 7:
      return from(Edge::kProbe, Proxy());
    case 8:
      return from(Edge::kProbe, Ended());
    case 9:
      return from(Edge::kProbe, End());
    case 10:
      return from(Edge::kProbe, Loss());
    case 11:
    case 12:
      return from(Edge::kEnvoy, Belief());
    default:
      return from(Edge::kProbe, Connect());
  }
}

BootTime RandomInputs::Around() {
  const int64_t apart[] = {0, -1, 1, -10'000'000, -kSecond, kSecond, -3 * kSecond, -70 * kSecond};
  return BootTime::FromNanos(std::max<int64_t>(now_ + apart[bytes_.Choose(8)], 1));
}

WallTime RandomInputs::AroundWall() {
  const int64_t wall = Around().nanos() + kWallAhead;
  return WallTime::FromNanos(wall - wall % kSecond);
}

IpAddr RandomInputs::Address() {
  return IpAddr::V4(10, 0, 0, static_cast<uint8_t>(bytes_.Choose(4)));
}

PodUid RandomInputs::Pod() { return PodUid(fmt::format("uid-{}", bytes_.Choose(6))); }

ProxyId RandomInputs::SomeProxy() { return ProxyId(fmt::format("proxy-{}", bytes_.Choose(3))); }

PodChange RandomInputs::Change() {
  PodChange change;
  change.pod.uid = Pod();
  change.pod.ns = "shop";
  change.pod.name = change.pod.uid.value().substr(4);
  // What a pod belongs to does not change; its revision may seem to (a label).
  const size_t number = static_cast<size_t>(change.pod.name[0] - '0');
  change.pod.workload = {"shop", kKinds[number % 4], kWorkloads[number % 3]};
  change.pod.revision = bytes_.OneIn(3) ? "v2" : number < 3 ? "v1" : "v2";
  change.pod.node_name = kNodes[bytes_.Choose(3)];
  change.phase = static_cast<PodPhase>(1 + bytes_.Choose(4));
  const uint32_t flags = bytes_.Byte();
  if (flags & 1) change.ips.push_back(Address());
  if (flags & 2) change.ips.push_back(Address());
  change.deleted = (flags & 12) == 12;
  if (flags & 16) change.deletion_requested = AroundWall();
  if (flags & 32) change.containers_finished = AroundWall();
  change.ready = (flags & 64) != 0;
  if ((flags & 128) != 0) change.created = AroundWall();
  if (change.deleted && bytes_.OneIn(2)) change.not_before = Around();
  if (bytes_.OneIn(16)) change.host_network = true;
  if (bytes_.OneIn(16)) change.departure_reason = "Evicted";
  return change;
}

SliceChange RandomInputs::Slice() {
  SliceChange slice;
  slice.ns = "shop";
  slice.service = kServices[bytes_.Choose(3)];
  slice.name = fmt::format("{}-{}", slice.service, bytes_.Choose(2));
  slice.deleted = bytes_.OneIn(8);
  if (slice.deleted && bytes_.OneIn(2)) slice.not_before = Around();
  slice.ports = {{"http", 8080}};
  for (uint32_t n = bytes_.Choose(4); n > 0; --n) {
    SliceChange::Endpoint endpoint{.addresses = {Address()}};
    const uint32_t flags = bytes_.Byte();
    endpoint.ready = (flags & 3) != 0;
    endpoint.serving = (flags & 4) != 0;
    endpoint.terminating = (flags & 24) == 24;
    if ((flags & 32) == 0) endpoint.pod_uid = Pod();
    slice.endpoints.push_back(std::move(endpoint));
  }
  return slice;
}

NodeChange RandomInputs::Node() {
  NodeChange node;
  node.name = kNodes[bytes_.Choose(2)];
  const uint32_t flags = bytes_.Byte();
  node.ready = (flags & 1) != 0;
  node.deleted = (flags & 6) == 6;
  if (flags & 8) node.last_heartbeat = AroundWall();
  if (flags & 16) node.addresses = {Address()};
  if (flags & 32) node.pod_cidrs = {"10.0.0.0/30"};
  if (node.deleted && (flags & 64) != 0) node.not_before = Around();
  return node;
}

BeliefSnapshot RandomInputs::Belief() {
  BeliefSnapshot snapshot;
  snapshot.proxy_id = SomeProxy();
  now_ += 1'000'000;  // one proxy's polls come one after another
  snapshot.received = now();
  snapshot.requested = now() - std::chrono::milliseconds(bytes_.Byte());
  if (bytes_.OneIn(8)) {
    snapshot.error = "connection refused";
    return snapshot;
  }
  snapshot.complete = bytes_.OneIn(2);
  for (uint32_t n = bytes_.Choose(4); n > 0; --n) {
    BeliefSnapshot::Cluster cluster;
    const uint32_t service = bytes_.Choose(4);
    cluster.name = service < 3 ? kServices[service] : "other";
    if (service < 3) cluster.service = fmt::format("shop/{}", kServices[service]);
    cluster.discovery = static_cast<Discovery>(bytes_.Choose(7));
    cluster.layer = static_cast<Layer>(bytes_.Choose(4));
    if (bytes_.OneIn(4)) cluster.updated = AroundWall();
    for (uint32_t m = bytes_.Choose(4); m > 0; --m) {
      BeliefSnapshot::Endpoint endpoint{.address = {Address(), 8080}};
      const uint32_t flags = bytes_.Byte();
      endpoint.in_assignment = (flags & 3) != 0;
      endpoint.in_host_set = (flags & 12) != 0;
      endpoint.pending_removal = (flags & 48) == 48;
      endpoint.connects = flags >> 6;
      if (bytes_.OneIn(4)) endpoint.mesh_cluster = bytes_.OneIn(2) ? "west" : "east";
      cluster.endpoints.push_back(std::move(endpoint));
    }
    snapshot.clusters.push_back(std::move(cluster));
  }
  if (!snapshot.complete && bytes_.OneIn(4)) snapshot.removed_clusters = {kServices[0]};
  return snapshot;
}

Attempt RandomInputs::Connect() {
  Attempt attempt;
  if (bytes_.OneIn(4)) {
    attempt.netns_cookie = 1 + bytes_.Choose(2);
    attempt.process_id = 10 + bytes_.Choose(2);
    attempt.thread_id = 10 + bytes_.Choose(3);
  } else {
    attempt.proxy_id = SomeProxy();
  }
  attempt.initiator = static_cast<Initiator>(bytes_.Choose(5));
  attempt.destination = {Address(), 8080};
  attempt.outcome = static_cast<Outcome>(1 + bytes_.Choose(8));
  attempt.started = Around();
  attempt.ended = attempt.started + std::chrono::milliseconds(50 * bytes_.Byte());
  attempt.syn_retransmits = bytes_.OneIn(4) ? 1 : 0;
  attempt.adopted = bytes_.OneIn(16);
  return attempt;
}

ConnectionEnd RandomInputs::End() {
  ConnectionEnd end;
  end.proxy_id = SomeProxy();
  end.destination = {Address(), 8080};
  end.ended = Around();
  end.established = end.ended - std::chrono::seconds(bytes_.Byte());
  end.how = static_cast<ConnectionEnd::How>(1 + bytes_.Choose(5));
  end.initiator = static_cast<Initiator>(bytes_.Choose(5));
  end.socket_cookie = 1 + bytes_.Choose(8);
  return end;
}

ProxyChange RandomInputs::Proxy() {
  ProxyChange change;
  const uint32_t number = bytes_.Choose(3);
  change.proxy.id = ProxyId(fmt::format("proxy-{}", number));
  change.proxy.role = static_cast<ProxyRole>(1 + bytes_.Choose(5));
  change.gone = bytes_.OneIn(4);
  if (bytes_.OneIn(2)) change.proxy.pod.uid = Pod();
  if (bytes_.OneIn(2)) {
    // Two share a network namespace; none shares a process.
    change.proxy.netns_cookie = number < 2 ? 1 : 2;
    change.proxy.process_ids = {10 + number};
  }
  return change;
}

FeedChange RandomInputs::Feed() {
  FeedChange change;
  change.feed = static_cast<phantomd::Feed>(1 + bytes_.Choose(3));
  change.state = bytes_.OneIn(4) ? FeedState::kBroken : FeedState::kSynced;
  if (change.state == FeedState::kBroken) change.good_until = std::min(Around(), now());
  return change;
}

PodEnd RandomInputs::Ended() {
  PodEnd end;
  end.pod_uid = Pod();
  end.ips = {Address()};
  end.ended = std::min(Around(), now());
  end.evidence = "last process";
  return end;
}

phantomd::Loss RandomInputs::Loss() {
  phantomd::Loss loss;
  loss.what = bytes_.OneIn(2) ? "belief" : "attempt";
  loss.count = bytes_.Choose(4);
  loss.to = std::min(Around(), now());
  loss.from = loss.to - std::chrono::seconds(bytes_.Choose(4));
  if (bytes_.OneIn(2)) loss.proxy_id = SomeProxy();
  loss.count_unknown = loss.count == 0;
  return loss;
}

}  // namespace phantomd::fuzz
