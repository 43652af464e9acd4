#include "agent/wire/report_wire.h"

#include <google/protobuf/util/time_util.h>

#include "agent/lifecycle/feed_name.h"
#include "agent/wire/noun_wire.h"

namespace phantomd {
namespace {

namespace pb = phantom::v1;
using google::protobuf::util::TimeUtil;

// Absent where there is no such instant: never (Max), always (Min) and unset.
bool IsInstant(BootTime t) { return t.is_set() && t != BootTime::Max() && t != BootTime::Min(); }

// Sets the fields of `out` that are absent where their value is not known.
template <typename Message>
struct Fields {
  WallOffset offset;
  Message* out;

  void Instant(BootTime t, google::protobuf::Timestamp* (Message::*field)()) const {
    if (IsInstant(t)) *(out->*field)() = TimeUtil::NanosecondsToTimestamp(offset.ToWall(t).nanos());
  }
  // The core writes 0 for a duration that is not known.
  void Duration(Nanos d, google::protobuf::Duration* (Message::*field)()) const {
    if (d != Nanos(0)) *(out->*field)() = TimeUtil::NanosecondsToDuration(d.count());
  }
};

void SetCounts(const Counts& counts, google::protobuf::RepeatedPtrField<pb::Count>* out) {
  for (const auto& [key, count] : counts) {
    pb::Count* entry = out->Add();
    entry->set_key(WireText(key));
    entry->set_count(count);
  }
}

// "10.0.0.1:80", or "10.0.0.1" for any port.
std::string AddressText(const SocketAddr& address) {
  return address.port == 0 ? address.ip.ToString() : address.ToString();
}

}  // namespace

void ReportEncoder::Encode(const StatusReport& status, pb::Status* out) const {
  const Fields<pb::Status> fields{report_.offset, out};
  out->set_node_name(WireText(status.node_name));
  out->set_agent_version(WireText(status.agent_version));
  fields.Instant(status.started, &pb::Status::mutable_started);
  fields.Instant(status.judged_until, &pb::Status::mutable_judged_until);
  fields.Instant(status.horizon, &pb::Status::mutable_horizon);
  out->set_attempts(status.attempts);
  SetCounts(status.attempts_by_class, out->mutable_attempts_by_class());
  SetCounts(status.lost, out->mutable_lost());
  for (const Loss& loss : status.losses) {
    pb::LossPeriod* entry = out->add_losses();
    const Fields<pb::LossPeriod> of_loss{report_.offset, entry};
    entry->set_what(WireText(loss.what));
    entry->set_count(loss.count);
    entry->set_count_unknown(loss.count_unknown);
    of_loss.Instant(loss.from, &pb::LossPeriod::mutable_from);
    of_loss.Instant(loss.to, &pb::LossPeriod::mutable_to);
    entry->set_proxy_id(WireText(loss.proxy_id.value()));
  }
  for (const FeedStatus& feed : status.feeds) {
    pb::FeedStatus* entry = out->add_feeds();
    entry->set_feed(NameOf(feed.feed));
    entry->set_synced(feed.synced);
    const Fields<pb::FeedStatus> of_feed{report_.offset, entry};
    of_feed.Instant(feed.last_change, &pb::FeedStatus::mutable_last_change);
    entry->set_relists(feed.relists);
    of_feed.Instant(feed.good_until, &pb::FeedStatus::mutable_good_until);
  }
  out->set_proxies(status.proxies);
  out->set_proxies_without_belief(status.proxies_without_belief);
  out->set_pods_indexed(status.pods_indexed);
  out->set_tombstones(status.tombstones);
  out->set_held(status.held);
  SetCounts(status.late, out->mutable_late());
  out->set_connections_dropped(status.connections_dropped);
  out->set_not_judged(status.not_judged);
}

void ReportEncoder::Encode(const ProxyReport& proxy, pb::ProxyStatus* out) const {
  const Fields<pb::ProxyStatus> fields{report_.offset, out};
  phantomd::Encode(proxy.proxy, out->mutable_proxy());
  fields.Instant(proxy.last_belief, &pb::ProxyStatus::mutable_last_belief);
  out->set_belief_error(WireText(proxy.belief_error));
  out->set_clusters(proxy.clusters);
  out->set_endpoints(proxy.endpoints);
  out->set_stale_endpoints(proxy.stale_endpoints);
  out->set_attempts(proxy.attempts);
  out->set_phantoms(proxy.phantoms);
  out->set_attempts_lost(proxy.attempts_lost);
  out->set_lower_bounds(proxy.lower_bounds);
  fields.Duration(proxy.admin_poll_duration, &pb::ProxyStatus::mutable_admin_poll_duration);
}

void ReportEncoder::Encode(const ProxyWindow& window, pb::ProxyWindow* out) const {
  const Fields<pb::ProxyWindow> fields{report_.offset, out};
  out->set_proxy_id(WireText(window.proxy_id.value()));
  out->set_proxy_name(WireText(window.proxy_name));
  fields.Instant(window.opened, &pb::ProxyWindow::mutable_opened);
  fields.Instant(window.closed, &pb::ProxyWindow::mutable_closed);
  fields.Duration(window.closed_error, &pb::ProxyWindow::mutable_closed_error);
  fields.Instant(window.last_connection, &pb::ProxyWindow::mutable_last_connection);
  out->set_attempts(window.attempts);
  out->set_phantoms(window.phantoms);
}

void ReportEncoder::Encode(const RolloutReport& rollout, Windows windows, pb::Rollout* out) const {
  const Fields<pb::Rollout> fields{report_.offset, out};
  out->set_name(WireText(rollout.name));
  phantomd::Encode(rollout.workload, out->mutable_workload());
  out->set_from_revision(WireText(rollout.from_revision));
  out->set_to_revision(WireText(rollout.to_revision));
  out->set_departure(static_cast<pb::Departure>(rollout.departure));
  fields.Instant(rollout.started, &pb::Rollout::mutable_started);
  fields.Instant(rollout.finished, &pb::Rollout::mutable_finished);
  out->set_pods_departed(rollout.pods_departed);
  out->set_attempts(rollout.attempts);
  out->set_withdrawn(rollout.withdrawn);
  out->set_dead(rollout.dead);
  out->set_reused(rollout.reused);
  out->set_other(rollout.other);
  out->set_attempts_lost(rollout.attempts_lost);
  out->set_lower_bounds(rollout.lower_bounds);
  SetCounts(rollout.by_cause, out->mutable_by_cause());
  SetCounts(rollout.by_outcome, out->mutable_by_outcome());
  SetCounts(rollout.by_layer, out->mutable_by_layer());
  if (windows == Windows::kWith) {
    for (const ProxyWindow& window : rollout.windows) Encode(window, out->add_windows());
  }
  fields.Duration(rollout.window_p50, &pb::Rollout::mutable_window_p50);
  fields.Duration(rollout.window_max, &pb::Rollout::mutable_window_max);
  fields.Duration(rollout.wait_p50, &pb::Rollout::mutable_wait_p50);
  fields.Duration(rollout.wait_max, &pb::Rollout::mutable_wait_max);
  fields.Duration(rollout.wait_total, &pb::Rollout::mutable_wait_total);
  out->set_stranded(rollout.stranded);
  SetCounts(rollout.stranded_by_end, out->mutable_stranded_by_end());
  for (const RolloutReport::Stranded& stranded : rollout.stranded_after) {
    pb::StrandedConnections* entry = out->add_stranded_after();
    entry->set_how(WireText(stranded.how));
    entry->set_count(stranded.count);
    const Fields<pb::StrandedConnections> of_how{report_.offset, entry};
    of_how.Duration(stranded.after_p50, &pb::StrandedConnections::mutable_after_p50);
    of_how.Duration(stranded.after_max, &pb::StrandedConnections::mutable_after_max);
  }
}

void ReportEncoder::Encode(const Holder& holder, pb::Holder* out) const {
  const Fields<pb::Holder> fields{report_.offset, out};
  phantomd::Encode(holder.pod, out->mutable_pod());
  fields.Instant(holder.acquired, &pb::Holder::mutable_acquired);
  fields.Instant(holder.withdrawn, &pb::Holder::mutable_withdrawn);
  fields.Instant(holder.released_not_before, &pb::Holder::mutable_released_not_before);
  fields.Instant(holder.released_not_after, &pb::Holder::mutable_released_not_after);
  out->set_departure(static_cast<pb::Departure>(holder.departure));
  out->set_evidence(WireText(holder.evidence));
}

void ReportEncoder::Encode(const Connection& connection, pb::Connection* out) const {
  const Fields<pb::Connection> fields{report_.offset, out};
  out->set_proxy_id(WireText(connection.proxy_id.value()));
  out->set_proxy_name(WireText(connection.proxy_name));
  out->set_initiator(static_cast<pb::Initiator>(connection.initiator));
  out->set_source(connection.source.ToString());
  out->set_destination(connection.destination.ToString());
  fields.Instant(connection.started, &pb::Connection::mutable_started);
  // Always there: a connect that failed on the spot took no time, which is known.
  *out->mutable_duration() = TimeUtil::NanosecondsToDuration(connection.duration.count());
  out->set_outcome(static_cast<pb::Outcome>(connection.outcome));
  out->set_error_number(connection.error_number);
  out->set_syn_retransmits(connection.syn_retransmits);
  out->set_destination_class(static_cast<pb::DestinationClass>(connection.destination_class));
  out->set_certainty(static_cast<pb::Certainty>(connection.certainty));
  out->set_unknown_reason(static_cast<pb::UnknownReason>(connection.unknown_reason));
  out->set_cause(static_cast<pb::Cause>(connection.cause));
  out->set_layer(static_cast<pb::Layer>(connection.layer));
  out->set_cluster(WireText(connection.cluster));
  out->set_rollout(WireText(RolloutOf(connection)));
  const auto set_holder = [&](const Holder& holder, pb::Holder* (pb::Connection::*field)()) {
    if (!holder.pod.uid.empty()) Encode(holder, (out->*field)());
  };
  set_holder(connection.last_holder, &pb::Connection::mutable_last_holder);
  set_holder(connection.current_holder, &pb::Connection::mutable_current_holder);
  set_holder(connection.holder_at_outcome, &pb::Connection::mutable_holder_at_outcome);
  fields.Duration(connection.since_withdrawn, &pb::Connection::mutable_since_withdrawn);
  fields.Duration(connection.since_dead, &pb::Connection::mutable_since_dead);
  out->set_socket_cookie(connection.socket_cookie);
}

void ReportEncoder::Encode(const StaleEndpointReport& endpoint, pb::StaleEndpoint* out) const {
  const Fields<pb::StaleEndpoint> fields{report_.offset, out};
  out->set_proxy_id(WireText(endpoint.proxy_id.value()));
  out->set_proxy_name(WireText(endpoint.proxy_name));
  out->set_cluster(WireText(endpoint.cluster));
  out->set_address(endpoint.address.ToString());
  out->set_destination_class(static_cast<pb::DestinationClass>(endpoint.destination));
  out->set_cause(static_cast<pb::Cause>(endpoint.cause));
  if (!endpoint.holder.pod.uid.empty()) Encode(endpoint.holder, out->mutable_holder());
  fields.Instant(endpoint.believed_since, &pb::StaleEndpoint::mutable_believed_since);
}

void ReportEncoder::Encode(const AddressExplanation& explanation,
                           pb::AddressExplanation* out) const {
  const Fields<pb::AddressExplanation> fields{report_.offset, out};
  out->set_address(AddressText(explanation.address));
  fields.Instant(explanation.time, &pb::AddressExplanation::mutable_time);
  out->set_destination_class(static_cast<pb::DestinationClass>(explanation.destination));
  out->set_certainty(static_cast<pb::Certainty>(explanation.certainty));
  out->set_unknown_reason(static_cast<pb::UnknownReason>(explanation.unknown_reason));
  for (const Holder& holder : explanation.holders) Encode(holder, out->add_holders());
  for (const AddressExplanation::BeliefLine& line : explanation.beliefs) {
    pb::AddressExplanation::Belief* entry = out->add_beliefs();
    entry->set_proxy_id(WireText(line.proxy_id.value()));
    entry->set_proxy_name(WireText(line.proxy_name));
    entry->set_cluster(WireText(line.cluster));
    entry->set_believes(line.believes);
    const Fields<pb::AddressExplanation::Belief> of_belief{report_.offset, entry};
    of_belief.Instant(line.first_seen, &pb::AddressExplanation::Belief::mutable_first_seen);
    of_belief.Instant(line.last_seen, &pb::AddressExplanation::Belief::mutable_last_seen);
    of_belief.Instant(line.gone_by, &pb::AddressExplanation::Belief::mutable_gone_by);
    entry->set_health(WireText(line.health));
  }
  for (const auto& connection : explanation.recent) Encode(*connection, out->add_recent());
}

std::string ReportEncoder::RolloutOf(const Connection& connection) const {
  const auto found = report_.rollout_of.find(connection.last_holder.pod.uid);
  return found == report_.rollout_of.end() ? std::string() : found->second;
}

void EncodeReport(const Report& report, pb::Report* out) {
  const ReportEncoder encoder(report);
  encoder.Encode(report.status, out->mutable_status());
  for (const ProxyReport& proxy : report.proxies) encoder.Encode(proxy, out->add_proxies());
  for (const RolloutReport& rollout : report.rollouts) {
    encoder.Encode(rollout, ReportEncoder::Windows::kWith, out->add_rollouts());
  }
  for (auto chunk = report.connections.rbegin(); chunk != report.connections.rend(); ++chunk) {
    for (auto c = (*chunk)->rbegin(); c != (*chunk)->rend(); ++c) {
      encoder.Encode(**c, out->add_connections());
    }
  }
  for (const StaleEndpointReport& endpoint : report.stale_endpoints) {
    encoder.Encode(endpoint, out->add_stale_endpoints());
  }
}

}  // namespace phantomd
