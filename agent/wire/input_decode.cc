#include "agent/wire/input_wire.h"
#include "agent/wire/noun_wire.h"
#include "agent/wire/restored_wire.h"

namespace phantomd {
namespace {

namespace v1 = phantom::v1;

template <typename Field>
std::vector<IpAddr> DecodeAddresses(const Field& field, const FieldPath& path,
                                    std::string_view name) {
  std::vector<IpAddr> out;
  out.reserve(field.size());
  for (int i = 0; i < field.size(); ++i) out.push_back(path.Address(name, i, field[i]));
  return out;
}

template <typename Field>
std::vector<std::string> DecodeRanges(const Field& field, const FieldPath& path,
                                      std::string_view name) {
  for (int i = 0; i < field.size(); ++i) path.AddressRange(name, i, field[i]);
  return std::vector<std::string>(field.begin(), field.end());
}

Settings Decode(const v1::Settings& message, const FieldPath& path) {
  Settings out;
  out.judgement_delay = path.Delay("judgement_delay_ns", message.judgement_delay_ns());
  out.max_hold = path.Delay("max_hold_ns", message.max_hold_ns());
  out.max_gap_hold = path.Delay("max_gap_hold_ns", message.max_gap_hold_ns());
  out.feed_delay = path.Delay("feed_delay_ns", message.feed_delay_ns());
  out.typical_delay = path.Delay("typical_delay_ns", message.typical_delay_ns());
  out.clock_error = path.Delay("clock_error_ns", message.clock_error_ns());
  out.horizon = path.Delay("horizon_ns", message.horizon_ns());
  out.pod_scope = message.pod_scope();
  if (out.pod_scope != "cluster" && out.pod_scope != "endpointslices") {
    path.Fail("pod_scope", "is neither \"cluster\" nor \"endpointslices\"");
  }
  out.pod_cidrs = DecodeRanges(message.pod_cidrs(), path, "pod_cidrs");
  return out;
}

Header Decode(const v1::Header& message, const FieldPath& path) {
  return {.format_version = message.format_version(),
          .offset = WallOffset(Nanos(message.wall_minus_boot_ns())),
          .node_name = message.node_name(),
          .agent_version = message.agent_version(),
          .settings = Decode(message.settings(), FieldPath(path, "settings"))};
}

ProxyChange Decode(const v1::ProxyChange& message, const FieldPath& path) {
  return {.proxy = Decode(message.proxy(), FieldPath(path, "proxy")), .gone = message.gone()};
}

PodChange Decode(const v1::PodChange& message, const FieldPath& path) {
  PodChange out;
  out.pod = phantomd::Decode(message.pod());
  out.deleted = message.deleted();
  out.not_before = Boot(message.not_before_ns());
  out.ips = DecodeAddresses(message.ips(), path, "ips");
  out.host_network = message.host_network();
  out.phase = path.Enum<PodPhase>("phase", message.phase(), v1::PodChange::Phase_IsValid);
  out.ready = message.ready();
  out.deletion_requested = Wall(message.deletion_requested_wall_ns());
  out.containers_finished = Wall(message.containers_finished_wall_ns());
  out.departure_reason = message.departure_reason();
  out.created = Wall(message.created_wall_ns());
  return out;
}

SliceChange Decode(const v1::SliceChange& message, const FieldPath& path) {
  SliceChange out;
  out.ns = message.namespace_();
  out.name = message.name();
  out.service = message.service();
  out.deleted = message.deleted();
  out.not_before = Boot(message.not_before_ns());
  for (int i = 0; i < message.ports_size(); ++i) {
    const v1::SliceChange::Port& port = message.ports(i);
    out.ports.push_back({port.name(), FieldPath(path, "ports", i).Port("port", port.port())});
  }
  for (int i = 0; i < message.endpoints_size(); ++i) {
    const v1::SliceChange::Endpoint& endpoint = message.endpoints(i);
    const FieldPath at(path, "endpoints", i);
    out.endpoints.push_back({.addresses = DecodeAddresses(endpoint.addresses(), at, "addresses"),
                             .ready = endpoint.ready(),
                             .serving = endpoint.serving(),
                             .terminating = endpoint.terminating(),
                             .pod_uid = PodUid(endpoint.pod_uid())});
  }
  return out;
}

FeedChange Decode(const v1::FeedChange& message, const FieldPath& path) {
  return {.feed = path.Enum<Feed>("feed", message.feed(), v1::FeedChange::Feed_IsValid),
          .state = path.Enum<FeedState>("state", message.state(), v1::FeedChange::State_IsValid),
          .good_until = Boot(message.good_until_ns())};
}

BeliefSnapshot::Endpoint Decode(const v1::BeliefSnapshot::Endpoint& message,
                                const FieldPath& path) {
  BeliefSnapshot::Endpoint out;
  out.address.ip = path.OptionalAddress("ip", message.ip());
  out.address.port = path.Port("port", message.port());
  out.in_assignment = message.in_assignment();
  out.in_host_set = message.in_host_set();
  out.pending_removal = message.pending_removal();
  out.failed_outlier_check = message.failed_outlier_check();
  out.failed_active_health_check = message.failed_active_health_check();
  out.workload = message.workload();
  out.connects = message.connects();
  out.connect_failures = message.connect_failures();
  out.mesh_cluster = message.mesh_cluster();
  return out;
}

BeliefSnapshot::Cluster Decode(const v1::BeliefSnapshot::Cluster& message, const FieldPath& path) {
  BeliefSnapshot::Cluster out;
  out.name = message.name();
  out.service = message.service();
  out.discovery =
      path.Enum<Discovery>("discovery", message.discovery(), v1::BeliefSnapshot::Discovery_IsValid);
  out.layer = path.Enum<Layer>("layer", message.layer(), v1::Layer_IsValid);
  out.endpoints.reserve(message.endpoints_size());
  for (int i = 0; i < message.endpoints_size(); ++i) {
    out.endpoints.push_back(Decode(message.endpoints(i), FieldPath(path, "endpoints", i)));
  }
  out.updated = Wall(message.updated_wall_ns());
  return out;
}

BeliefSnapshot Decode(const v1::BeliefSnapshot& message, const FieldPath& path) {
  BeliefSnapshot out;
  out.proxy_id = ProxyId(message.proxy_id());
  out.requested = Boot(message.requested_ns());
  out.received = Boot(message.received_ns());
  out.complete = message.complete();
  out.clusters.reserve(message.clusters_size());
  for (int i = 0; i < message.clusters_size(); ++i) {
    out.clusters.push_back(Decode(message.clusters(i), FieldPath(path, "clusters", i)));
  }
  out.removed_clusters.assign(message.removed_clusters().begin(), message.removed_clusters().end());
  out.error = message.error();
  return out;
}

Loss Decode(const v1::Loss& message, const FieldPath&) {
  return {.what = message.what(),
          .count = message.count(),
          .from = Boot(message.from_ns()),
          .to = Boot(message.to_ns()),
          .proxy_id = ProxyId(message.proxy_id()),
          .count_unknown = message.count_unknown()};
}

NodeChange Decode(const v1::NodeChange& message, const FieldPath& path) {
  NodeChange out;
  out.name = message.name();
  out.deleted = message.deleted();
  out.not_before = Boot(message.not_before_ns());
  out.ready = message.ready();
  out.last_heartbeat = Wall(message.last_heartbeat_wall_ns());
  out.addresses = DecodeAddresses(message.addresses(), path, "addresses");
  out.pod_cidrs = DecodeRanges(message.pod_cidrs(), path, "pod_cidrs");
  return out;
}

PodEnd Decode(const v1::PodEnd& message, const FieldPath& path) {
  return {.pod_uid = PodUid(message.pod_uid()),
          .ips = DecodeAddresses(message.ips(), path, "ips"),
          .ended = Boot(message.ended_ns()),
          .evidence = message.evidence()};
}

ClockChange Decode(const v1::ClockChange& message, const FieldPath&) {
  return {.offset = WallOffset(Nanos(message.wall_minus_boot_ns()))};
}

}  // namespace

Attempt Decode(const v1::Attempt& message, const FieldPath& path) {
  Attempt out;
  out.proxy_id = ProxyId(message.proxy_id());
  out.netns_cookie = message.netns_cookie();
  out.process_id = message.process_id();
  out.initiator = path.Enum<Initiator>("initiator", message.initiator(), v1::Initiator_IsValid);
  out.source.ip = path.OptionalAddress("source_ip", message.source_ip());
  out.source.port = path.Port("source_port", message.source_port());
  out.destination.ip = path.OptionalAddress("destination_ip", message.destination_ip());
  out.destination.port = path.Port("destination_port", message.destination_port());
  out.started = Boot(message.started_ns());
  out.ended = Boot(message.ended_ns());
  out.outcome = path.Enum<Outcome>("outcome", message.outcome(), v1::Outcome_IsValid);
  out.error_number = message.error_number();
  out.icmp_type = message.icmp_type();
  out.icmp_code = message.icmp_code();
  out.syn_retransmits = message.syn_retransmits();
  out.socket_cookie = message.socket_cookie();
  out.thread_id = message.thread_id();
  out.cgroup_id = message.cgroup_id();
  out.process_start = Boot(message.process_start_ns());
  out.adopted = message.adopted();
  return out;
}

ConnectionEnd Decode(const v1::ConnectionEnd& message, const FieldPath& path) {
  ConnectionEnd out;
  out.socket_cookie = message.socket_cookie();
  out.ended = Boot(message.ended_ns());
  out.how = path.Enum<ConnectionEnd::How>("how", message.how(), v1::ConnectionEnd::How_IsValid);
  out.bytes_sent = message.bytes_sent();
  out.bytes_received = message.bytes_received();
  out.proxy_id = ProxyId(message.proxy_id());
  out.netns_cookie = message.netns_cookie();
  out.process_id = message.process_id();
  out.destination.ip = path.OptionalAddress("destination_ip", message.destination_ip());
  out.destination.port = path.Port("destination_port", message.destination_port());
  out.established = Boot(message.established_ns());
  out.adopted = message.adopted();
  out.cgroup_id = message.cgroup_id();
  out.initiator = path.Enum<Initiator>("initiator", message.initiator(), v1::Initiator_IsValid);
  out.thread_id = message.thread_id();
  return out;
}

absl::StatusOr<Input> DecodeInput(const v1::Input& message) {
  absl::Status status;
  const FieldPath root(&status);
  Input out;
  out.observed = Boot(message.observed_ns());
  const auto take = [&](const auto& value, std::string_view field) {
    out.value = Decode(value, FieldPath(root, field));
  };
  switch (message.input_case()) {
    case v1::Input::kHeader:
      take(message.header(), "header");
      break;
    case v1::Input::kProxy:
      take(message.proxy(), "proxy");
      break;
    case v1::Input::kAttempt:
      take(message.attempt(), "attempt");
      break;
    case v1::Input::kConnectionEnd:
      take(message.connection_end(), "connection_end");
      break;
    case v1::Input::kPod:
      take(message.pod(), "pod");
      break;
    case v1::Input::kSlice:
      take(message.slice(), "slice");
      break;
    case v1::Input::kFeed:
      take(message.feed(), "feed");
      break;
    case v1::Input::kBelief:
      take(message.belief(), "belief");
      break;
    case v1::Input::kLoss:
      take(message.loss(), "loss");
      break;
    case v1::Input::kNode:
      take(message.node(), "node");
      break;
    case v1::Input::kPodEnd:
      take(message.pod_end(), "pod_end");
      break;
    case v1::Input::kClock:
      take(message.clock(), "clock");
      break;
    case v1::Input::kRestored:
      take(message.restored(), "restored");
      break;
    case v1::Input::INPUT_NOT_SET:
      root.Fail("input", "none of the kinds of input that this version knows is set");
      break;
  }
  if (!status.ok()) return status;
  return out;
}

}  // namespace phantomd
