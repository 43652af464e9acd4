#include "tests/wire/sample_report.h"

#include <cmath>
#include <utility>

namespace phantomd::testing {
namespace {

constexpr int64_t kWallAtBoot = 1'795'978'740;  // 2026-11-29T18:59:00Z

constexpr char kRollout[] = "shop/Deployment/catalog/7d9f8c/20261129T185902Z";

using std::chrono::milliseconds;
using std::chrono::seconds;

IpAddr Ip(uint8_t last) { return IpAddr::V4(10, 1, 0, last); }

PodRef Pod(const std::string& workload, const std::string& name, const std::string& revision) {
  return {.uid = PodUid("uid-" + name),
          .ns = "shop",
          .name = name,
          .workload = {.ns = "shop", .kind = "Deployment", .name = workload},
          .revision = revision,
          .node_name = "node-1"};
}

Holder OldCatalog() {
  return {.pod = Pod("catalog", "catalog-5b6d-a", "5b6d"),
          .acquired = At(0.5),
          .withdrawn = At(2),
          .released_not_before = At(2.25),
          .released_not_after = At(2.75),
          .departure = Departure::kRollout,
          .evidence = "deleted event"};
}

Holder Payments() { return {.pod = Pod("payments", "payments-66aa-x", "66aa"), .acquired = At(4)}; }

Proxy Webapp(int number) {
  const std::string name = "webapp-" + std::to_string(number);
  return {.id = ProxyId(name + "/c0ffee"),
          .name = "shop/" + name,
          .role = ProxyRole::kSidecar,
          .pod = Pod("webapp", name, "55cc"),
          .envoy_node_id = "sidecar~10.1.0.20~" + name + ".shop~shop.svc.cluster.local",
          .envoy_version = "1.31.2",
          .netns_cookie = 4097,
          .process_ids = {4711, 4712},
          .admin_address = "127.0.0.1:15000",
          .cgroup_id = 815,
          .process_start = At(0.25)};
}

StatusReport SampleStatus() {
  return {.node_name = "node-1",
          .agent_version = "0.1.0",
          .started = At(1),
          .judged_until = At(57),
          .horizon = At(1),
          .attempts = 120,
          .attempts_by_class = {{"DEAD", 7}, {"LIVE", 108}, {"REUSED", 2}, {"WITHDRAWN", 3}},
          .lost = {{"attempt", 4}},
          .losses = {{.what = "attempt",
                      .count = 4,
                      .from = At(3),
                      .to = At(3.2),
                      .proxy_id = ProxyId("webapp-1/c0ffee")},
                     {.what = "attempt", .from = At(40), .to = At(41), .count_unknown = true}},
          .feeds = {{.feed = Feed::kPods,
                     .synced = true,
                     .last_change = At(5),
                     .relists = 1,
                     .good_until = At(59)},
                    {.feed = Feed::kSlices, .synced = true, .last_change = At(6)},
                    {.feed = Feed::kNodes}},
          .proxies = 2,
          .proxies_without_belief = 1,
          .pods_indexed = 12,
          .tombstones = 3,
          .held = 5,
          .late = {{"pod", 1}},
          .connections_dropped = 6,
          .not_judged = 40,
          .not_judged_by_initiator = {{"INTERCEPTED", 30}, {"PROXY_CONTROL", 10}}};
}

RolloutReport SampleRollout() {
  return {.name = kRollout,
          .workload = {.ns = "shop", .kind = "Deployment", .name = "catalog"},
          .from_revision = "5b6d",
          .to_revision = "7d9f8c",
          .departure = Departure::kRollout,
          .started = At(2),
          .finished = At(8.5),
          .pods_departed = 3,
          .attempts = 13,
          .withdrawn = 3,
          .dead = 7,
          .reused = 2,
          .other = 1,
          .attempts_lost = 4,
          .lower_bounds = true,
          .by_cause = {{"AFTER_REMOVAL", 1}, {"STALE_EDS", 8}},
          .by_outcome = {{"ABANDONED", 7}, {"ESTABLISHED", 2}},
          .by_layer = {{"L4", 5}, {"L7", 4}},
          .windows = {{.proxy_id = ProxyId("webapp-2/c0ffee"),
                       .proxy_name = "shop/webapp-2",
                       .opened = At(2)},
                      {.proxy_id = ProxyId("webapp-1/c0ffee"),
                       .proxy_name = "shop/webapp-1",
                       .opened = At(2),
                       .closed = At(5.02),
                       .closed_error = milliseconds(25),
                       .last_connection = At(4.9),
                       .attempts = 13,
                       .phantoms = 9}},
          .window_p50 = milliseconds(3020),
          .window_max = seconds(6),
          .wait_p50 = seconds(1),
          .wait_max = milliseconds(1004),
          .wait_total = milliseconds(7028),
          .stranded = 2,
          .stranded_by_end = {{"EXPIRED", 2}},
          .stranded_after = {{"EXPIRED", 2, seconds(900), seconds(930)}}};
}

Connection SampleReused(uint64_t sequence) {
  Connection out = SampleConnection(sequence);
  out.destination_class = DestinationClass::kReused;
  out.certainty = Certainty::kCertain;
  out.started = At(4.5);
  out.duration = std::chrono::microseconds(350);
  out.outcome = Outcome::kEstablished;
  out.error_number = 0;
  out.syn_retransmits = 0;
  out.layer = Layer::kL7;
  out.current_holder = Payments();
  out.since_withdrawn = milliseconds(2500);
  out.since_dead = milliseconds(1750);
  return out;
}

// Two facts that none of the others has: a reason not to know, and an answer by the next holder.
Connection SampleUnknown(uint64_t sequence) {
  Connection out = SampleConnection(sequence);
  out.destination_class = DestinationClass::kUnknown;
  out.certainty = Certainty::kUnspecified;
  out.unknown_reason = UnknownReason::kFeedGap;
  out.cause = Cause::kUnspecified;
  out.last_holder = Holder();
  out.holder_at_outcome = Payments();
  out.since_withdrawn = out.since_dead = Nanos(0);
  return out;
}

Histogram OneWait(size_t bucket, double seconds) {
  Histogram out;
  out.buckets[bucket] = 1;
  out.sum_seconds = seconds;
  out.count = 1;
  return out;
}

MetricCells SampleCells() {
  const SourceLabels webapp{.ns = "shop", .workload = "webapp", .pod = "webapp-1"};
  MetricCells out;
  out.attempts = {{.source = webapp,
                   .initiator = Initiator::kProxy,
                   .destination_class = DestinationClass::kLive,
                   .outcome = Outcome::kEstablished,
                   .count = 108},
                  {.source = webapp,
                   .initiator = Initiator::kProxy,
                   .destination_class = DestinationClass::kDead,
                   .outcome = Outcome::kAbandoned,
                   .count = 7}};
  out.connections = {{.source = webapp,
                      .destination = {.ns = "shop", .workload = "catalog", .revision = "5b6d"},
                      .destination_class = DestinationClass::kDead,
                      .certainty = Certainty::kCertain,
                      .cause = Cause::kStaleEds,
                      .outcome = Outcome::kAbandoned,
                      .layer = Layer::kL4,
                      .count = 7}};
  out.waits = {{.source_ns = "shop",
                .source_workload = "webapp",
                .destination_ns = "shop",
                .destination_workload = "catalog",
                .destination_class = DestinationClass::kDead,
                .outcome = Outcome::kAbandoned,
                .histogram = OneWait(8, 1.004)}};
  out.windows = {
      {.destination_ns = "shop", .destination_workload = "catalog", .histogram = OneWait(6, 3.02)}};
  out.stale = {{.source = webapp, .destination_class = DestinationClass::kDead, .count = 1}};
  return out;
}

}  // namespace

BootTime At(double seconds) { return BootTime::FromNanos(std::llround(seconds * 1e3) * 1'000'000); }

Connection SampleConnection(uint64_t sequence) {
  return {.proxy_id = ProxyId("webapp-1/c0ffee"),
          .proxy_name = "shop/webapp-1",
          .initiator = Initiator::kProxy,
          .source = {.ip = Ip(20), .port = static_cast<uint16_t>(40000 + sequence)},
          .destination = {.ip = Ip(1), .port = 8080},
          .started = At(3 + 0.001 * static_cast<double>(sequence)),
          .duration = milliseconds(1004),
          .outcome = Outcome::kAbandoned,
          .error_number = 110,
          .syn_retransmits = 1,
          .destination_class = DestinationClass::kDead,
          .certainty = Certainty::kInferred,
          .cause = Cause::kStaleEds,
          .layer = Layer::kL4,
          .cluster = "outbound|8080||catalog.shop.svc.cluster.local",
          .last_holder = OldCatalog(),
          .since_withdrawn = milliseconds(1000 + static_cast<int64_t>(sequence)),
          .since_dead = milliseconds(250 + static_cast<int64_t>(sequence)),
          .socket_cookie = 9000 + sequence,
          .sequence = sequence};
}

Report SampleReport() {
  Report out;
  out.offset = WallOffset(seconds(kWallAtBoot));
  out.status = SampleStatus();
  out.proxies = {{.proxy = Webapp(1),
                  .last_belief = At(58),
                  .clusters = 4,
                  .endpoints = 9,
                  .stale_endpoints = 1,
                  .attempts = 120,
                  .phantoms = 9,
                  .attempts_lost = 4,
                  .lower_bounds = true,
                  .admin_poll_duration = milliseconds(3)},
                 {.proxy = Webapp(2), .belief_error = "127.0.0.1:15000 refused the connection"}};
  out.rollouts = {SampleRollout()};
  out.connections = Chunks({SampleConnection(1), SampleReused(2), SampleUnknown(3)}, 2);
  out.rollout_of[OldCatalog().pod.uid] = kRollout;
  out.stale_endpoints = {{.proxy_id = ProxyId("webapp-1/c0ffee"),
                          .proxy_name = "shop/webapp-1",
                          .cluster = "outbound|8080||catalog.shop.svc.cluster.local",
                          .address = {.ip = Ip(1), .port = 8080},
                          .destination = DestinationClass::kDead,
                          .cause = Cause::kStaleEds,
                          .holder = OldCatalog(),
                          .believed_since = At(1)}};
  out.metrics = SampleCells();
  return out;
}

AddressExplanation SampleExplanation() {
  AddressExplanation out;
  out.address = {.ip = Ip(1)};
  out.time = At(4);
  out.destination = DestinationClass::kDead;
  out.certainty = Certainty::kCertain;
  out.unknown_reason = UnknownReason::kUnspecified;
  out.holders = {OldCatalog()};
  out.beliefs = {{.proxy_id = ProxyId("webapp-1/c0ffee"),
                  .proxy_name = "shop/webapp-1",
                  .cluster = "outbound|8080||catalog.shop.svc.cluster.local",
                  .address = {.ip = Ip(1), .port = 8080},
                  .believes = true,
                  .first_seen = At(1),
                  .last_seen = At(5),
                  .gone_by = At(5.05),
                  .health = "assigned"},
                 {.proxy_id = ProxyId("webapp-2/c0ffee"),
                  .proxy_name = "shop/webapp-2",
                  .cluster = "outbound|8080||catalog.shop.svc.cluster.local",
                  .address = {.ip = Ip(1), .port = 8080},
                  .first_seen = At(1),
                  .last_seen = At(3),
                  .gone_by = At(3.05),
                  .health = "dropped"}};
  out.recent = {std::make_shared<const Connection>(SampleConnection(1))};
  return out;
}

ConnectionChunks Chunks(const std::vector<Connection>& connections, size_t chunk_size) {
  ConnectionChunks out;
  ConnectionChunk chunk;
  for (const Connection& connection : connections) {
    chunk.push_back(std::make_shared<const Connection>(connection));
    if (chunk.size() == chunk_size) {
      out.push_back(std::make_shared<const ConnectionChunk>(std::exchange(chunk, {})));
    }
  }
  if (!chunk.empty()) out.push_back(std::make_shared<const ConnectionChunk>(std::move(chunk)));
  return out;
}

}  // namespace phantomd::testing
