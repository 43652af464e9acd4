#include "agent/wire/noun_wire.h"
#include "agent/wire/restored_wire.h"

namespace phantomd {
namespace {

namespace v1 = phantom::v1;
using V1 = v1::Restored;

template <typename E, typename Field>
void EncodeCounts(const std::map<E, uint64_t>& counts, Field* out) {
  for (const auto& [value, count] : counts) {
    V1::EnumCount* added = out->Add();
    added->set_value(static_cast<int>(value));
    added->set_count(count);
  }
}

template <typename Field>
void EncodeCounts(const std::map<std::string, uint64_t>& counts, Field* out) {
  for (const auto& [key, count] : counts) {
    v1::Count* added = out->Add();
    added->set_key(WireText(key));
    added->set_count(count);
  }
}

void EncodeSketch(const WaitSketch& sketch, V1::Sketch* out) {
  for (const auto& [number, count] : sketch.buckets()) {
    V1::Sketch::Bucket* added = out->add_buckets();
    added->set_number(number);
    added->set_count(count);
  }
  out->set_max_ns(sketch.max().count());
  out->set_total_ns(sketch.total().count());
}

void EncodeHistogram(const Histogram& histogram, V1::Histogram* out) {
  for (const uint64_t bucket : histogram.buckets) out->add_buckets(bucket);
  out->set_sum_seconds(histogram.sum_seconds);
  out->set_count(histogram.count);
}

void EncodeSource(const SourceLabels& source, V1::Source* out) {
  out->set_namespace_(WireText(source.ns));
  out->set_workload(WireText(source.workload));
  out->set_pod(WireText(source.pod));
}

void EncodeHolder(const Holder& holder, V1::Holder* out) {
  Encode(holder.pod, out->mutable_pod());
  out->set_acquired_ns(holder.acquired.nanos());
  out->set_withdrawn_ns(holder.withdrawn.nanos());
  out->set_released_not_before_ns(holder.released_not_before.nanos());
  out->set_released_not_after_ns(holder.released_not_after.nanos());
  out->set_departure(static_cast<v1::Departure>(holder.departure));
  out->set_evidence(WireText(holder.evidence));
}

void EncodePart(const EngineTotals& totals, V1* restored) {
  V1::Totals* out = restored->mutable_totals();
  out->set_started_ns(totals.started.nanos());
  out->set_next_housekeeping_ns(totals.next_housekeeping.nanos());
  out->set_next_compaction_ns(totals.next_compaction.nanos());
  out->set_compacted_to_ns(totals.compacted_to.nanos());
  out->set_judged(totals.judged);
  EncodeCounts(totals.lost, out->mutable_lost());
  EncodeCounts(totals.late, out->mutable_late());
  EncodeCounts(totals.mesh_cluster_votes, out->mutable_mesh_cluster_votes());
  out->set_mesh_cluster(WireText(totals.mesh_cluster));
  EncodeCounts(totals.counted.by_class, out->mutable_by_class());
  EncodeCounts(totals.counted.not_judged, out->mutable_not_judged());
  out->set_connections_kept(totals.counted.kept);
  out->set_connections_dropped(totals.counted.dropped);
  out->set_forget(totals.counted.forget);
  for (const auto& [feed, feed_totals] : totals.feeds) {
    V1::Feed* added = out->add_feeds();
    added->set_feed(static_cast<v1::FeedChange::Feed>(feed));
    added->set_relists(feed_totals.relists);
    added->set_last_change_ns(feed_totals.last_change.nanos());
  }
}

void EncodePart(const HeldAttempt& held, V1* restored) {
  V1::HeldAttempt* out = restored->mutable_held_attempt();
  Encode(held.attempt, out->mutable_attempt());
  out->set_observed_ns(held.observed.nanos());
  out->set_due_ns(held.due.nanos());
  out->set_first_tried_ns(held.first_tried.nanos());
  out->set_next_ns(held.next.nanos());
  out->set_silence_told(held.silence_told);
  out->set_waits_for_address(held.waits.address);
  out->set_waits_for_nodes(held.waits.nodes);
  out->set_waits_for_feed(held.waits.feed);
  out->set_waits_for_poll_of(WireText(held.waits.poll.value()));
}

void EncodePart(const HeldEnd& held, V1* restored) {
  V1::HeldEnd* out = restored->mutable_held_end();
  Encode(held.end, out->mutable_end());
  out->set_observed_ns(held.observed.nanos());
  out->set_first_tried_ns(held.first_tried.nanos());
  out->set_next_ns(held.next.nanos());
  out->set_waits_for_feed(held.waits_for_feed);
  out->set_waits_for_address(held.waits_for_address);
}

void EncodePart(const NodeSilence& silence, V1* restored) {
  V1::NodeSilence* out = restored->mutable_node_silence();
  out->set_node(WireText(silence.node));
  out->set_not_ready_since_ns(silence.not_ready_since.nanos());
  for (const NodeSilence::OfPod& pod : silence.pods) {
    V1::NodeSilence::Pod* added = out->add_pods();
    added->set_uid(WireText(pod.uid.value()));
    added->set_last_answer_ns(pod.last_answer.nanos());
    added->set_last_silence_ns(pod.last_silence.nanos());
  }
}

void EncodePart(const WatchedAddresses& watched, V1* restored) {
  V1::Watched* out = restored->mutable_watched();
  out->set_proxy_id(WireText(watched.proxy.value()));
  for (const IpAddr& ip : watched.ips) out->add_ips(std::string(ip.AsBytes()));
}

void EncodePart(const LastHolders& holders, V1* restored) {
  V1::CountedPods* out = restored->mutable_counted_pods();
  for (const PodUid& uid : holders.pods) out->add_uids(WireText(uid.value()));
}

void EncodePart(const PodOfProxy& named, V1* restored) {
  V1::ProxyPod* out = restored->mutable_proxy_pod();
  out->set_proxy_id(WireText(named.proxy.value()));
  Encode(named.pod, out->mutable_pod());
}

void EncodeRemnant(const DepartureRemnants& remnants, V1* restored) {
  V1::Departures* out = restored->mutable_departures();
  for (const DepartureRemnants::Waiting& waiting : remnants.waiting) {
    V1::Departures::Waiting* added = out->add_waiting();
    added->set_uid(WireText(waiting.pod.value()));
    added->set_told_ns(waiting.told.nanos());
  }
  for (const DepartureRemnants::Revision& revision : remnants.revisions) {
    V1::Departures::Revision* added = out->add_revisions();
    Encode(revision.workload, added->mutable_workload());
    added->set_revision(WireText(revision.revision));
    added->set_newest_created_wall_ns(revision.newest_created.nanos());
    added->set_newest_told_ns(revision.newest_told.nanos());
  }
  for (const PodUid& uid : remnants.replacements) out->add_replacement_uids(WireText(uid.value()));
}

void EncodeRemnant(const ChangeRemnant& change, V1* restored) {
  V1::Change* out = restored->mutable_change();
  out->set_name(WireText(change.name));
  Encode(change.workload, out->mutable_workload());
  out->set_from_revision(WireText(change.from_revision));
  out->set_to_revision(WireText(change.to_revision));
  out->set_departure(static_cast<v1::Departure>(change.departure));
  out->set_started_ns(change.started.nanos());
  out->set_superseded_ns(change.superseded.nanos());
  out->set_first_wall_ns(change.first.nanos());
  out->set_last_wall_ns(change.last.nanos());
  for (const PodUid& uid : change.pods) out->add_uids(WireText(uid.value()));
}

void EncodeRemnant(const AddressRemnants& remnants, V1* restored) {
  V1::Addresses* out = restored->mutable_addresses();
  out->set_forgot_addresses(remnants.forgot_addresses);
  for (const AddressRemnants::Address& address : remnants.addresses) {
    V1::Addresses::Address* added = out->add_addresses();
    added->set_ip(std::string(address.ip.AsBytes()));
    added->set_several_pods(address.several_pods);
    added->set_history_incomplete(address.history_incomplete);
    added->set_listed_with_pod(address.listed_with_pod);
  }
}

void EncodePart(const LifecycleRemnant& remnant, V1* restored) {
  std::visit([&](const auto& part) { EncodeRemnant(part, restored); }, remnant);
}

// The ledger's totals travel with the engine's.
void EncodeCounted(const CountedTotals& totals, V1* restored) {
  EncodePart(EngineTotals{.counted = totals}, restored);
}

void EncodeCounted(const CountedProxy& proxy, V1* restored) {
  V1::OfProxy* out = restored->mutable_of_proxy();
  out->set_proxy_id(WireText(proxy.id.value()));
  EncodeSource(proxy.source, out->mutable_source());
  out->set_known(proxy.known);
  out->set_gone_ns(proxy.gone.nanos());
  out->set_last_ns(proxy.last.nanos());
  EncodeCounts(proxy.by_class, out->mutable_by_class());
}

void EncodeCounted(const CountedPod& pod, V1* restored) {
  V1::OfPod* out = restored->mutable_of_pod();
  const PodTally& tally = pod.tally;
  out->set_uid(WireText(pod.uid.value()));
  out->set_withdrawn(tally.withdrawn);
  out->set_dead(tally.dead);
  out->set_reused(tally.reused);
  out->set_other(tally.other);
  EncodeCounts(tally.by_cause, out->mutable_by_cause());
  EncodeCounts(tally.by_outcome, out->mutable_by_outcome());
  EncodeCounts(tally.by_layer, out->mutable_by_layer());
  EncodeSketch(tally.waits, out->mutable_waits());
  for (const auto& [how, after] : tally.stranded) {
    V1::OfPod::Stranded* added = out->add_stranded();
    added->set_how(static_cast<v1::ConnectionEnd::How>(how));
    EncodeSketch(after, added->mutable_after());
  }
  for (const auto& [cookie, stall] : tally.stalled) {
    V1::OfPod::Stalled* added = out->add_stalled();
    added->set_socket_cookie(cookie);
    added->set_ended_ns(stall.ended.nanos());
    added->set_after_ns(stall.after.count());
  }
  for (const auto& [id, of_proxy] : tally.proxies) {
    V1::OfPod::Proxy* added = out->add_proxies();
    added->set_proxy_id(WireText(id.value()));
    added->set_attempts(of_proxy.attempts);
    added->set_phantoms(of_proxy.phantoms);
    added->set_last_ns(of_proxy.last.nanos());
  }
}

void EncodeCounted(const CountedChange& change, V1* restored) {
  V1::OfChange* out = restored->mutable_of_change();
  out->set_name(WireText(change.name));
  for (const ProxyId& id : change.observed) out->add_observed(WireText(id.value()));
  out->set_settled(change.settled);
  out->set_settled_pods(change.settled_pods);
  for (const WindowFigures& window : change.windows) {
    V1::Window* added = out->add_windows();
    added->set_proxy_id(WireText(window.proxy.value()));
    added->set_opened_ns(window.opened.nanos());
    added->set_closed_ns(window.closed.nanos());
    added->set_closed_error_ns(window.closed_error.count());
    added->set_last_connection_ns(window.last_connection.nanos());
    added->set_attempts(window.attempts);
    added->set_phantoms(window.phantoms);
    added->set_believed(window.believed);
  }
  out->set_finished_ns(change.finished.nanos());
}

void EncodeCounted(const CountedAttempts& attempts, V1* restored) {
  V1::Attempts* out = restored->mutable_attempts();
  if (!attempts.other) EncodeSource(attempts.source, out->mutable_source());
  for (const CountedAttempts::Cell& cell : attempts.cells) {
    V1::Attempts::Cell* added = out->add_cells();
    added->set_initiator(static_cast<v1::Initiator>(cell.initiator));
    added->set_destination_class(static_cast<v1::DestinationClass>(cell.destination_class));
    added->set_outcome(static_cast<v1::Outcome>(cell.outcome));
    added->set_count(cell.count);
  }
}

void EncodeCounted(const CountedConnections& connections, V1* restored) {
  V1::Connections* out = restored->mutable_connections();
  const MetricCells::Connections& cell = connections.cell;
  EncodeSource(cell.source, out->mutable_source());
  out->set_destination_namespace(WireText(cell.destination.ns));
  out->set_destination_workload(WireText(cell.destination.workload));
  out->set_destination_revision(WireText(cell.destination.revision));
  out->set_destination_class(static_cast<v1::DestinationClass>(cell.destination_class));
  out->set_certainty(static_cast<v1::Certainty>(cell.certainty));
  out->set_cause(static_cast<v1::Cause>(cell.cause));
  out->set_outcome(static_cast<v1::Outcome>(cell.outcome));
  out->set_layer(static_cast<v1::Layer>(cell.layer));
  out->set_count(cell.count);
  out->set_last_ns(connections.last.nanos());
}

void EncodeCounted(const CountedWaits& waits, V1* restored) {
  V1::Waits* out = restored->mutable_waits();
  const MetricCells::Wait& cell = waits.cell;
  out->set_source_namespace(WireText(cell.source_ns));
  out->set_source_workload(WireText(cell.source_workload));
  out->set_destination_namespace(WireText(cell.destination_ns));
  out->set_destination_workload(WireText(cell.destination_workload));
  out->set_destination_class(static_cast<v1::DestinationClass>(cell.destination_class));
  out->set_outcome(static_cast<v1::Outcome>(cell.outcome));
  EncodeHistogram(cell.histogram, out->mutable_histogram());
  out->set_last_ns(waits.last.nanos());
}

void EncodeCounted(const CountedWindows& windows, V1* restored) {
  V1::Windows* out = restored->mutable_windows();
  out->set_destination_namespace(WireText(windows.cell.destination_ns));
  out->set_destination_workload(WireText(windows.cell.destination_workload));
  EncodeHistogram(windows.cell.histogram, out->mutable_histogram());
  out->set_last_ns(windows.last.nanos());
}

void EncodeCounted(const Connection& connection, V1* restored) {
  V1::Kept* out = restored->mutable_kept();
  out->set_proxy_id(WireText(connection.proxy_id.value()));
  out->set_proxy_name(WireText(connection.proxy_name));
  out->set_initiator(static_cast<v1::Initiator>(connection.initiator));
  out->set_source_ip(WireAddress(connection.source.ip));
  out->set_source_port(connection.source.port);
  out->set_destination_ip(WireAddress(connection.destination.ip));
  out->set_destination_port(connection.destination.port);
  out->set_started_ns(connection.started.nanos());
  out->set_duration_ns(connection.duration.count());
  out->set_outcome(static_cast<v1::Outcome>(connection.outcome));
  out->set_error_number(connection.error_number);
  out->set_syn_retransmits(connection.syn_retransmits);
  out->set_destination_class(static_cast<v1::DestinationClass>(connection.destination_class));
  out->set_certainty(static_cast<v1::Certainty>(connection.certainty));
  out->set_unknown_reason(static_cast<v1::UnknownReason>(connection.unknown_reason));
  out->set_cause(static_cast<v1::Cause>(connection.cause));
  out->set_layer(static_cast<v1::Layer>(connection.layer));
  out->set_cluster(WireText(connection.cluster));
  EncodeHolder(connection.last_holder, out->mutable_last_holder());
  EncodeHolder(connection.current_holder, out->mutable_current_holder());
  EncodeHolder(connection.holder_at_outcome, out->mutable_holder_at_outcome());
  out->set_since_withdrawn_ns(connection.since_withdrawn.count());
  out->set_since_dead_ns(connection.since_dead.count());
  out->set_socket_cookie(connection.socket_cookie);
  out->set_sequence(connection.sequence);
}

void EncodePart(const Counted& counted, V1* restored) {
  std::visit([&](const auto& part) { EncodeCounted(part, restored); }, counted.part);
}

}  // namespace

void Encode(const Restored& restored, V1* out) {
  std::visit([out](const auto& part) { EncodePart(part, out); }, *restored.part);
}

}  // namespace phantomd
