#include <google/protobuf/io/coded_stream.h>

#include "agent/wire/input_wire.h"
#include "agent/wire/noun_wire.h"
#include "agent/wire/restored_wire.h"

namespace phantomd {
namespace {

namespace v1 = phantom::v1;

template <typename Addresses, typename Field>
void EncodeAddresses(const Addresses& addresses, Field* out) {
  for (const IpAddr& ip : addresses) *out->Add() = std::string(ip.AsBytes());
}

template <typename Texts, typename Field>
void EncodeTexts(const Texts& texts, Field* out) {
  for (const std::string& text : texts) *out->Add() = WireText(text);
}

void Encode(const Settings& settings, v1::Settings* out) {
  out->set_judgement_delay_ns(settings.judgement_delay.count());
  out->set_max_hold_ns(settings.max_hold.count());
  out->set_max_gap_hold_ns(settings.max_gap_hold.count());
  out->set_feed_delay_ns(settings.feed_delay.count());
  out->set_typical_delay_ns(settings.typical_delay.count());
  out->set_clock_error_ns(settings.clock_error.count());
  out->set_horizon_ns(settings.horizon.count());
  out->set_pod_scope(WireText(settings.pod_scope));
  EncodeTexts(settings.pod_cidrs, out->mutable_pod_cidrs());
}

void Encode(const Header& header, v1::Input* input) {
  v1::Header* out = input->mutable_header();
  out->set_format_version(header.format_version);
  out->set_wall_minus_boot_ns(header.offset.wall_minus_boot().count());
  out->set_node_name(WireText(header.node_name));
  out->set_agent_version(WireText(header.agent_version));
  Encode(header.settings, out->mutable_settings());
}

void Encode(const ProxyChange& change, v1::Input* input) {
  v1::ProxyChange* out = input->mutable_proxy();
  Encode(change.proxy, out->mutable_proxy());
  out->set_gone(change.gone);
}

void Encode(const Attempt& attempt, v1::Input* input) {
  phantomd::Encode(attempt, input->mutable_attempt());
}

void Encode(const ConnectionEnd& end, v1::Input* input) {
  phantomd::Encode(end, input->mutable_connection_end());
}

void Encode(const Restored& restored, v1::Input* input) {
  phantomd::Encode(restored, input->mutable_restored());
}

void Encode(const PodChange& change, v1::Input* input) {
  v1::PodChange* out = input->mutable_pod();
  Encode(change.pod, out->mutable_pod());
  out->set_deleted(change.deleted);
  out->set_not_before_ns(change.not_before.nanos());
  EncodeAddresses(change.ips, out->mutable_ips());
  out->set_host_network(change.host_network);
  out->set_phase(static_cast<v1::PodChange::Phase>(change.phase));
  out->set_ready(change.ready);
  out->set_deletion_requested_wall_ns(change.deletion_requested.nanos());
  out->set_containers_finished_wall_ns(change.containers_finished.nanos());
  out->set_departure_reason(WireText(change.departure_reason));
  out->set_created_wall_ns(change.created.nanos());
}

void Encode(const SliceChange& change, v1::Input* input) {
  v1::SliceChange* out = input->mutable_slice();
  out->set_namespace_(WireText(change.ns));
  out->set_name(WireText(change.name));
  out->set_service(WireText(change.service));
  out->set_deleted(change.deleted);
  out->set_not_before_ns(change.not_before.nanos());
  for (const SliceChange::Port& port : change.ports) {
    v1::SliceChange::Port* added = out->add_ports();
    added->set_name(WireText(port.name));
    added->set_port(port.port);
  }
  for (const SliceChange::Endpoint& endpoint : change.endpoints) {
    v1::SliceChange::Endpoint* added = out->add_endpoints();
    EncodeAddresses(endpoint.addresses, added->mutable_addresses());
    added->set_ready(endpoint.ready);
    added->set_serving(endpoint.serving);
    added->set_terminating(endpoint.terminating);
    added->set_pod_uid(WireText(endpoint.pod_uid.value()));
  }
}

void Encode(const FeedChange& change, v1::Input* input) {
  v1::FeedChange* out = input->mutable_feed();
  out->set_feed(static_cast<v1::FeedChange::Feed>(change.feed));
  out->set_state(static_cast<v1::FeedChange::State>(change.state));
  out->set_good_until_ns(change.good_until.nanos());
}

void Encode(const BeliefSnapshot::Endpoint& endpoint, v1::BeliefSnapshot::Endpoint* out) {
  out->set_ip(WireAddress(endpoint.address.ip));
  out->set_port(endpoint.address.port);
  out->set_in_assignment(endpoint.in_assignment);
  out->set_in_host_set(endpoint.in_host_set);
  out->set_pending_removal(endpoint.pending_removal);
  out->set_failed_outlier_check(endpoint.failed_outlier_check);
  out->set_failed_active_health_check(endpoint.failed_active_health_check);
  out->set_workload(WireText(endpoint.workload));
  out->set_connects(endpoint.connects);
  out->set_connect_failures(endpoint.connect_failures);
  out->set_mesh_cluster(WireText(endpoint.mesh_cluster));
}

void Encode(const BeliefSnapshot& snapshot, v1::Input* input) {
  v1::BeliefSnapshot* out = input->mutable_belief();
  out->set_proxy_id(WireText(snapshot.proxy_id.value()));
  out->set_requested_ns(snapshot.requested.nanos());
  out->set_received_ns(snapshot.received.nanos());
  out->set_complete(snapshot.complete);
  for (const BeliefSnapshot::Cluster& cluster : snapshot.clusters) {
    v1::BeliefSnapshot::Cluster* added = out->add_clusters();
    added->set_name(WireText(cluster.name));
    added->set_service(WireText(cluster.service));
    added->set_discovery(static_cast<v1::BeliefSnapshot::Discovery>(cluster.discovery));
    added->set_layer(static_cast<v1::Layer>(cluster.layer));
    for (const BeliefSnapshot::Endpoint& endpoint : cluster.endpoints) {
      Encode(endpoint, added->add_endpoints());
    }
    added->set_updated_wall_ns(cluster.updated.nanos());
  }
  EncodeTexts(snapshot.removed_clusters, out->mutable_removed_clusters());
  out->set_error(WireText(snapshot.error));
}

void Encode(const Loss& loss, v1::Input* input) {
  v1::Loss* out = input->mutable_loss();
  out->set_what(WireText(loss.what));
  out->set_count(loss.count);
  out->set_from_ns(loss.from.nanos());
  out->set_to_ns(loss.to.nanos());
  out->set_proxy_id(WireText(loss.proxy_id.value()));
  out->set_count_unknown(loss.count_unknown);
}

void Encode(const NodeChange& change, v1::Input* input) {
  v1::NodeChange* out = input->mutable_node();
  out->set_name(WireText(change.name));
  out->set_deleted(change.deleted);
  out->set_not_before_ns(change.not_before.nanos());
  out->set_ready(change.ready);
  out->set_last_heartbeat_wall_ns(change.last_heartbeat.nanos());
  EncodeAddresses(change.addresses, out->mutable_addresses());
  EncodeTexts(change.pod_cidrs, out->mutable_pod_cidrs());
}

void Encode(const PodEnd& end, v1::Input* input) {
  v1::PodEnd* out = input->mutable_pod_end();
  out->set_pod_uid(WireText(end.pod_uid.value()));
  EncodeAddresses(end.ips, out->mutable_ips());
  out->set_ended_ns(end.ended.nanos());
  out->set_evidence(WireText(end.evidence));
}

void Encode(const ClockChange& change, v1::Input* input) {
  input->mutable_clock()->set_wall_minus_boot_ns(change.offset.wall_minus_boot().count());
}

}  // namespace

void Encode(const Attempt& attempt, v1::Attempt* out) {
  out->set_proxy_id(WireText(attempt.proxy_id.value()));
  out->set_netns_cookie(attempt.netns_cookie);
  out->set_process_id(attempt.process_id);
  out->set_initiator(static_cast<v1::Initiator>(attempt.initiator));
  out->set_source_ip(WireAddress(attempt.source.ip));
  out->set_source_port(attempt.source.port);
  out->set_destination_ip(WireAddress(attempt.destination.ip));
  out->set_destination_port(attempt.destination.port);
  out->set_started_ns(attempt.started.nanos());
  out->set_ended_ns(attempt.ended.nanos());
  out->set_outcome(static_cast<v1::Outcome>(attempt.outcome));
  out->set_error_number(attempt.error_number);
  out->set_icmp_type(attempt.icmp_type);
  out->set_icmp_code(attempt.icmp_code);
  out->set_syn_retransmits(attempt.syn_retransmits);
  out->set_socket_cookie(attempt.socket_cookie);
  out->set_thread_id(attempt.thread_id);
  out->set_cgroup_id(attempt.cgroup_id);
  out->set_process_start_ns(attempt.process_start.nanos());
  out->set_adopted(attempt.adopted);
}

void Encode(const ConnectionEnd& end, v1::ConnectionEnd* out) {
  out->set_socket_cookie(end.socket_cookie);
  out->set_ended_ns(end.ended.nanos());
  out->set_how(static_cast<v1::ConnectionEnd::How>(end.how));
  out->set_bytes_sent(end.bytes_sent);
  out->set_bytes_received(end.bytes_received);
  out->set_proxy_id(WireText(end.proxy_id.value()));
  out->set_netns_cookie(end.netns_cookie);
  out->set_process_id(end.process_id);
  out->set_destination_ip(WireAddress(end.destination.ip));
  out->set_destination_port(end.destination.port);
  out->set_established_ns(end.established.nanos());
  out->set_adopted(end.adopted);
  out->set_cgroup_id(end.cgroup_id);
  out->set_initiator(static_cast<v1::Initiator>(end.initiator));
  out->set_thread_id(end.thread_id);
}

void EncodeInput(const Input& input, v1::Input* out) {
  out->Clear();
  out->set_observed_ns(input.observed.nanos());
  std::visit([out](const auto& value) { Encode(value, out); }, input.value);
}

void AppendDelimited(const v1::Input& message, std::string* out) {
  constexpr int kLongest = 5;  // bytes of a 32-bit varint
  uint8_t length[kLongest];
  const uint8_t* const end = google::protobuf::io::CodedOutputStream::WriteVarint32ToArray(
      static_cast<uint32_t>(message.ByteSizeLong()), length);
  out->append(reinterpret_cast<const char*>(length), static_cast<size_t>(end - length));
  message.AppendToString(out);
}

}  // namespace phantomd
