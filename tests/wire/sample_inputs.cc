#include "tests/wire/sample_inputs.h"

#include <string>

#include "tests/wire/sample_restored.h"
#include "tests/wire/sample_values.h"

namespace phantomd::testing {
namespace {

Header SampleHeader(SampleValues& v) {
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

ProxyChange SampleProxy(SampleValues& v) {
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

Attempt SampleAttempt(SampleValues& v) {
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

ConnectionEnd SampleEnd(SampleValues& v) {
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

PodChange SamplePodChange(SampleValues& v) {
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

SliceChange SampleSlice(SampleValues& v) {
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

BeliefSnapshot SampleBelief(SampleValues& v) {
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
  SampleValues v;
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
  for (RestoredPart& part : EveryRestoredPart(v)) {
    add(Restored{std::make_shared<const RestoredPart>(std::move(part))});
  }
  return out;
}

}  // namespace phantomd::testing
