#include "tests/wire/sample_inputs.h"

#include <string>

namespace phantomd::testing {
namespace {

// Hands out a different value at each call, so that two fields that are swapped never compare
// equal.
class Values {
 public:
  int64_t Number() { return ++last_; }
  std::string Text(std::string_view stem) { return std::string(stem) + std::to_string(Number()); }
  BootTime Boot() { return BootTime::FromNanos(1'000'000'000'000 + Number()); }
  WallTime Wall() { return WallTime::FromNanos(1'700'000'000'000'000'000 + Number()); }
  Nanos Delay() { return Nanos(7'000'000'000 + Number()); }
  IpAddr Ip() { return IpAddr::V4(10, 1, 2, static_cast<uint8_t>(Number())); }
  SocketAddr Socket() { return {Ip(), static_cast<uint16_t>(40'000 + Number())}; }
  uint32_t U32() { return static_cast<uint32_t>(3'000'000'000 + Number()); }
  uint64_t U64() { return (uint64_t{1} << 63) + static_cast<uint64_t>(Number()); }
  ProxyId Id() { return ProxyId(Text("proxy-")); }

 private:
  int64_t last_ = 0;
};

PodRef SamplePod(Values& v) {
  return {.uid = PodUid(v.Text("uid-")),
          .ns = v.Text("ns-"),
          .name = v.Text("pod-"),
          .workload = {v.Text("ns-"), v.Text("Kind"), v.Text("workload-")},
          .revision = v.Text("revision-"),
          .node_name = v.Text("node-")};
}

Header SampleHeader(Values& v) {
  return {.format_version = v.U32(),
          .offset = WallOffset(v.Delay()),
          .node_name = v.Text("node-"),
          .agent_version = v.Text("version-"),
          .settings = {.judgement_delay = v.Delay(),
                       .max_hold = v.Delay(),
                       .max_gap_hold = v.Delay(),
                       .feed_delay = v.Delay(),
                       .typical_delay = v.Delay(),
                       .clock_error = v.Delay(),
                       .horizon = v.Delay(),
                       .pod_scope = "endpointslices",
                       .pod_cidrs = {"10.1.0.0/16", "fd00::/64"}}};
}

ProxyChange SampleProxy(Values& v) {
  return {.proxy = {.id = v.Id(),
                    .name = v.Text("ns/pod-"),
                    .role = ProxyRole::kStandalone,
                    .pod = SamplePod(v),
                    .envoy_node_id = v.Text("sidecar~"),
                    .envoy_version = v.Text("1."),
                    .netns_cookie = v.U64(),
                    .process_ids = {v.U32(), v.U32()},
                    .admin_address = v.Text("127.0.0.1:"),
                    .cgroup_id = v.U64(),
                    .process_start = v.Boot()},
          .gone = true};
}

Attempt SampleAttempt(Values& v) {
  return {.proxy_id = v.Id(),
          .netns_cookie = v.U64(),
          .process_id = v.U32(),
          .initiator = Initiator::kProxyControl,
          .source = v.Socket(),
          .destination = v.Socket(),
          .started = v.Boot(),
          .ended = v.Boot(),
          .outcome = Outcome::kOtherError,
          .error_number = -5,
          .icmp_type = v.U32(),
          .icmp_code = v.U32(),
          .syn_retransmits = v.U32(),
          .socket_cookie = v.U64(),
          .thread_id = v.U32(),
          .cgroup_id = v.U64(),
          .process_start = v.Boot(),
          .adopted = true};
}

ConnectionEnd SampleEnd(Values& v) {
  return {.socket_cookie = v.U64(),
          .ended = v.Boot(),
          .how = ConnectionEnd::How::kExpired,
          .bytes_sent = v.U64(),
          .bytes_received = v.U64(),
          .proxy_id = v.Id(),
          .netns_cookie = v.U64(),
          .process_id = v.U32(),
          .destination = v.Socket(),
          .established = v.Boot(),
          .adopted = true,
          .cgroup_id = v.U64(),
          .initiator = Initiator::kIntercepted,
          .thread_id = v.U32()};
}

PodChange SamplePodChange(Values& v) {
  return {.pod = SamplePod(v),
          .deleted = true,
          .not_before = v.Boot(),
          .ips = {v.Ip(), *IpAddr::Parse("fd00::17")},
          .host_network = true,
          .phase = PodPhase::kFailed,
          .ready = true,
          .deletion_requested = v.Wall(),
          .containers_finished = v.Wall(),
          .departure_reason = v.Text("Evicted"),
          .created = v.Wall()};
}

SliceChange SampleSlice(Values& v) {
  return {.ns = v.Text("ns-"),
          .name = v.Text("slice-"),
          .service = v.Text("service-"),
          .deleted = true,
          .not_before = v.Boot(),
          .ports = {{v.Text("http-"), 65535}, {v.Text("grpc-"), 8080}},
          .endpoints = {{.addresses = {v.Ip(), v.Ip()},
                         .ready = false,
                         .serving = false,
                         .terminating = true,
                         .pod_uid = PodUid(v.Text("uid-"))},
                        {.addresses = {v.Ip()},
                         .ready = true,
                         .serving = true,
                         .terminating = false,
                         .pod_uid = PodUid(v.Text("uid-"))}}};
}

BeliefSnapshot SampleBelief(Values& v) {
  return {.proxy_id = v.Id(),
          .requested = v.Boot(),
          .received = v.Boot(),
          .complete = true,
          .clusters = {{.name = v.Text("outbound|80||"),
                        .service = v.Text("ns/service-"),
                        .discovery = Discovery::kCustom,
                        .layer = Layer::kMixed,
                        .endpoints = {{.address = v.Socket(),
                                       .in_assignment = true,
                                       .in_host_set = true,
                                       .pending_removal = true,
                                       .failed_outlier_check = true,
                                       .failed_active_health_check = true,
                                       .workload = v.Text("ns/workload-"),
                                       .connects = v.U64(),
                                       .connect_failures = v.U64(),
                                       .mesh_cluster = v.Text("cluster-")}},
                        .updated = v.Wall()}},
          .removed_clusters = {v.Text("gone-"), v.Text("gone-")},
          .error = v.Text("connection refused ")};
}

}  // namespace

std::vector<Input> EveryInput() {
  Values v;
  std::vector<Input> out;
  const auto add = [&](auto value) { out.push_back({v.Boot(), std::move(value)}); };
  Header header = SampleHeader(v);
  header.format_version = Header::kFormatVersion;
  add(std::move(header));
  add(SampleProxy(v));
  add(SampleAttempt(v));
  add(SampleEnd(v));
  add(SamplePodChange(v));
  add(SampleSlice(v));
  add(FeedChange{Feed::kNodes, FeedState::kBroken, v.Boot()});
  add(SampleBelief(v));
  add(Loss{.what = v.Text("attempt-"),
           .count = v.U64(),
           .from = v.Boot(),
           .to = v.Boot(),
           .proxy_id = v.Id(),
           .count_unknown = true});
  add(NodeChange{.name = v.Text("node-"),
                 .deleted = true,
                 .not_before = v.Boot(),
                 .ready = true,
                 .last_heartbeat = v.Wall(),
                 .addresses = {v.Ip(), v.Ip()},
                 .pod_cidrs = {"10.2.0.0/24", "fd01::/80"}});
  add(PodEnd{.pod_uid = PodUid(v.Text("uid-")),
             .ips = {v.Ip()},
             .ended = v.Boot(),
             .evidence = v.Text("last process ")});
  add(ClockChange{WallOffset(v.Delay())});
  return out;
}

}  // namespace phantomd::testing
