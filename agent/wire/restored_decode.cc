#include <utility>

#include "agent/wire/noun_wire.h"
#include "agent/wire/restored_wire.h"

namespace phantomd {
namespace {

namespace v1 = phantom::v1;
using V1 = v1::Restored;

template <typename E, typename Field>
std::map<E, uint64_t> DecodeCounts(const Field& field, const FieldPath& path, std::string_view name,
                                   bool (*is_valid)(int)) {
  std::map<E, uint64_t> out;
  for (int i = 0; i < field.size(); ++i) {
    const FieldPath at(path, name, i);
    out[at.Enum<E>("value", field[i].value(), is_valid)] += field[i].count();
  }
  return out;
}

template <typename Field>
std::map<std::string, uint64_t> DecodeNamedCounts(const Field& field) {
  std::map<std::string, uint64_t> out;
  for (const v1::Count& count : field) out[count.key()] += count.count();
  return out;
}

WaitSketch DecodeSketch(const V1::Sketch& message) {
  WaitSketch::Buckets buckets;
  for (const V1::Sketch::Bucket& bucket : message.buckets()) {
    buckets[bucket.number()] += bucket.count();
  }
  return WaitSketch(std::move(buckets), Nanos(message.max_ns()), Nanos(message.total_ns()));
}

Histogram DecodeHistogram(const V1::Histogram& message, const FieldPath& path) {
  Histogram out;
  if (message.buckets_size() != static_cast<int>(out.buckets.size())) {
    path.Fail("histogram.buckets", "has not as many buckets as the metric");
    return out;
  }
  std::copy(message.buckets().begin(), message.buckets().end(), out.buckets.begin());
  out.sum_seconds = message.sum_seconds();
  out.count = message.count();
  return out;
}

SourceLabels DecodeSource(const V1::Source& message) {
  return {.ns = message.namespace_(), .workload = message.workload(), .pod = message.pod()};
}

Holder DecodeHolder(const V1::Holder& message, const FieldPath& path) {
  Holder out;
  out.pod = phantomd::Decode(message.pod());
  out.acquired = Boot(message.acquired_ns());
  out.withdrawn = Boot(message.withdrawn_ns());
  out.released_not_before = Boot(message.released_not_before_ns());
  out.released_not_after = Boot(message.released_not_after_ns());
  out.departure = path.Enum<Departure>("departure", message.departure(), v1::Departure_IsValid);
  out.evidence = message.evidence();
  return out;
}

EngineTotals DecodePart(const V1::Totals& message, const FieldPath& path) {
  EngineTotals out;
  out.started = Boot(message.started_ns());
  out.next_housekeeping = Boot(message.next_housekeeping_ns());
  out.next_compaction = Boot(message.next_compaction_ns());
  out.compacted_to = Boot(message.compacted_to_ns());
  out.judged = message.judged();
  out.lost = DecodeNamedCounts(message.lost());
  out.late = DecodeNamedCounts(message.late());
  out.mesh_cluster_votes = DecodeNamedCounts(message.mesh_cluster_votes());
  out.mesh_cluster = message.mesh_cluster();
  out.counted.by_class = DecodeCounts<DestinationClass>(message.by_class(), path, "by_class",
                                                        v1::DestinationClass_IsValid);
  out.counted.not_judged =
      DecodeCounts<Initiator>(message.not_judged(), path, "not_judged", v1::Initiator_IsValid);
  out.counted.kept = message.connections_kept();
  out.counted.dropped = message.connections_dropped();
  out.counted.forget = message.forget();
  for (int i = 0; i < message.feeds_size(); ++i) {
    const FieldPath at(path, "feeds", i);
    const auto feed = at.Enum<Feed>("feed", message.feeds(i).feed(), v1::FeedChange::Feed_IsValid);
    out.feeds[feed] = {message.feeds(i).relists(), Boot(message.feeds(i).last_change_ns())};
  }
  return out;
}

HeldAttempt DecodePart(const V1::HeldAttempt& message, const FieldPath& path) {
  HeldAttempt out;
  out.attempt = Decode(message.attempt(), FieldPath(path, "attempt"));
  out.observed = Boot(message.observed_ns());
  out.due = Boot(message.due_ns());
  out.first_tried = Boot(message.first_tried_ns());
  out.next = Boot(message.next_ns());
  out.silence_told = message.silence_told();
  out.waits = {.address = message.waits_for_address(),
               .nodes = message.waits_for_nodes(),
               .feed = message.waits_for_feed(),
               .poll = ProxyId(message.waits_for_poll_of())};
  return out;
}

HeldEnd DecodePart(const V1::HeldEnd& message, const FieldPath& path) {
  return {.end = Decode(message.end(), FieldPath(path, "end")),
          .observed = Boot(message.observed_ns()),
          .first_tried = Boot(message.first_tried_ns()),
          .next = Boot(message.next_ns()),
          .waits_for_feed = message.waits_for_feed(),
          .waits_for_address = message.waits_for_address()};
}

NodeSilence DecodePart(const V1::NodeSilence& message, const FieldPath&) {
  NodeSilence out{.node = message.node(), .not_ready_since = Boot(message.not_ready_since_ns())};
  for (const V1::NodeSilence::Pod& pod : message.pods()) {
    out.pods.push_back(
        {PodUid(pod.uid()), Boot(pod.last_answer_ns()), Boot(pod.last_silence_ns())});
  }
  return out;
}

WatchedAddresses DecodePart(const V1::Watched& message, const FieldPath& path) {
  WatchedAddresses out{.proxy = ProxyId(message.proxy_id())};
  for (int i = 0; i < message.ips_size(); ++i) {
    out.ips.push_back(path.Address("ips", i, message.ips(i)));
  }
  return out;
}

LastHolders DecodePart(const V1::CountedPods& message, const FieldPath&) {
  LastHolders out;
  for (const std::string& uid : message.uids()) out.pods.emplace_back(uid);
  return out;
}

PodOfProxy DecodePart(const V1::ProxyPod& message, const FieldPath&) {
  return {.proxy = ProxyId(message.proxy_id()), .pod = phantomd::Decode(message.pod())};
}

LifecycleRemnant DecodePart(const V1::Departures& message, const FieldPath&) {
  DepartureRemnants out;
  for (const V1::Departures::Waiting& waiting : message.waiting()) {
    out.waiting.push_back({PodUid(waiting.uid()), Boot(waiting.told_ns())});
  }
  for (const V1::Departures::Revision& revision : message.revisions()) {
    out.revisions.push_back({phantomd::Decode(revision.workload()), revision.revision(),
                             Wall(revision.newest_created_wall_ns()),
                             Boot(revision.newest_told_ns())});
  }
  for (const std::string& uid : message.replacement_uids()) out.replacements.emplace_back(uid);
  return out;
}

LifecycleRemnant DecodePart(const V1::Change& message, const FieldPath& path) {
  ChangeRemnant out{
      .name = message.name(),
      .workload = phantomd::Decode(message.workload()),
      .from_revision = message.from_revision(),
      .to_revision = message.to_revision(),
      .departure = path.Enum<Departure>("departure", message.departure(), v1::Departure_IsValid),
      .started = Boot(message.started_ns()),
      .superseded = Boot(message.superseded_ns()),
      .first = Wall(message.first_wall_ns()),
      .last = Wall(message.last_wall_ns())};
  for (const std::string& uid : message.uids()) out.pods.emplace_back(uid);
  return out;
}

LifecycleRemnant DecodePart(const V1::Addresses& message, const FieldPath& path) {
  AddressRemnants out{.forgot_addresses = message.forgot_addresses()};
  for (int i = 0; i < message.addresses_size(); ++i) {
    const V1::Addresses::Address& address = message.addresses(i);
    out.addresses.push_back({path.Address("addresses", i, address.ip()), address.several_pods(),
                             address.history_incomplete(), address.listed_with_pod()});
  }
  return out;
}

Counted DecodePart(const V1::OfProxy& message, const FieldPath& path) {
  return CountedProxy{.id = ProxyId(message.proxy_id()),
                      .source = DecodeSource(message.source()),
                      .known = message.known(),
                      .gone = Boot(message.gone_ns()),
                      .last = Boot(message.last_ns()),
                      .by_class = DecodeCounts<DestinationClass>(
                          message.by_class(), path, "by_class", v1::DestinationClass_IsValid)};
}

Counted DecodePart(const V1::OfPod& message, const FieldPath& path) {
  CountedPod out{.uid = PodUid(message.uid())};
  PodTally& tally = out.tally;
  tally.withdrawn = message.withdrawn();
  tally.dead = message.dead();
  tally.reused = message.reused();
  tally.other = message.other();
  tally.by_cause = DecodeCounts<Cause>(message.by_cause(), path, "by_cause", v1::Cause_IsValid);
  tally.by_outcome =
      DecodeCounts<Outcome>(message.by_outcome(), path, "by_outcome", v1::Outcome_IsValid);
  tally.by_layer = DecodeCounts<Layer>(message.by_layer(), path, "by_layer", v1::Layer_IsValid);
  tally.waits = DecodeSketch(message.waits());
  for (int i = 0; i < message.stranded_size(); ++i) {
    const FieldPath at(path, "stranded", i);
    const auto how = at.Enum<ConnectionEnd::How>("how", message.stranded(i).how(),
                                                 v1::ConnectionEnd::How_IsValid);
    tally.stranded[how] = DecodeSketch(message.stranded(i).after());
  }
  for (const V1::OfPod::Stalled& stall : message.stalled()) {
    tally.stalled[stall.socket_cookie()] = {Boot(stall.ended_ns()), Nanos(stall.after_ns())};
  }
  for (const V1::OfPod::Proxy& proxy : message.proxies()) {
    tally.proxies[ProxyId(proxy.proxy_id())] = {proxy.attempts(), proxy.phantoms(),
                                                Boot(proxy.last_ns())};
  }
  return out;
}

Counted DecodePart(const V1::OfChange& message, const FieldPath&) {
  CountedChange out;
  out.name = message.name();
  for (const std::string& id : message.observed()) out.observed.emplace_back(id);
  out.settled = message.settled();
  out.settled_pods = message.settled_pods();
  for (const V1::Window& window : message.windows()) {
    out.windows.push_back({.proxy = ProxyId(window.proxy_id()),
                           .opened = Boot(window.opened_ns()),
                           .closed = Boot(window.closed_ns()),
                           .closed_error = Nanos(window.closed_error_ns()),
                           .last_connection = Boot(window.last_connection_ns()),
                           .attempts = window.attempts(),
                           .phantoms = window.phantoms(),
                           .believed = window.believed()});
  }
  out.finished = Boot(message.finished_ns());
  return out;
}

Counted DecodePart(const V1::Attempts& message, const FieldPath& path) {
  CountedAttempts out{.other = !message.has_source(), .source = DecodeSource(message.source())};
  for (int i = 0; i < message.cells_size(); ++i) {
    const FieldPath at(path, "cells", i);
    const V1::Attempts::Cell& cell = message.cells(i);
    out.cells.push_back({at.Enum<Initiator>("initiator", cell.initiator(), v1::Initiator_IsValid),
                         at.Enum<DestinationClass>("destination_class", cell.destination_class(),
                                                   v1::DestinationClass_IsValid),
                         at.Enum<Outcome>("outcome", cell.outcome(), v1::Outcome_IsValid),
                         cell.count()});
  }
  return out;
}

Counted DecodePart(const V1::Connections& message, const FieldPath& path) {
  CountedConnections out;
  out.cell.source = DecodeSource(message.source());
  out.cell.destination = {.ns = message.destination_namespace(),
                          .workload = message.destination_workload(),
                          .revision = message.destination_revision()};
  out.cell.destination_class = path.Enum<DestinationClass>(
      "destination_class", message.destination_class(), v1::DestinationClass_IsValid);
  out.cell.certainty =
      path.Enum<Certainty>("certainty", message.certainty(), v1::Certainty_IsValid);
  out.cell.cause = path.Enum<Cause>("cause", message.cause(), v1::Cause_IsValid);
  out.cell.outcome = path.Enum<Outcome>("outcome", message.outcome(), v1::Outcome_IsValid);
  out.cell.layer = path.Enum<Layer>("layer", message.layer(), v1::Layer_IsValid);
  out.cell.count = message.count();
  out.last = Boot(message.last_ns());
  return out;
}

Counted DecodePart(const V1::Waits& message, const FieldPath& path) {
  CountedWaits out;
  out.cell.source_ns = message.source_namespace();
  out.cell.source_workload = message.source_workload();
  out.cell.destination_ns = message.destination_namespace();
  out.cell.destination_workload = message.destination_workload();
  out.cell.destination_class = path.Enum<DestinationClass>(
      "destination_class", message.destination_class(), v1::DestinationClass_IsValid);
  out.cell.outcome = path.Enum<Outcome>("outcome", message.outcome(), v1::Outcome_IsValid);
  out.cell.histogram = DecodeHistogram(message.histogram(), path);
  out.last = Boot(message.last_ns());
  return out;
}

Counted DecodePart(const V1::Windows& message, const FieldPath& path) {
  CountedWindows out;
  out.cell.destination_ns = message.destination_namespace();
  out.cell.destination_workload = message.destination_workload();
  out.cell.histogram = DecodeHistogram(message.histogram(), path);
  out.last = Boot(message.last_ns());
  return out;
}

Counted DecodePart(const V1::Kept& message, const FieldPath& path) {
  Connection out;
  out.proxy_id = ProxyId(message.proxy_id());
  out.proxy_name = message.proxy_name();
  out.initiator = path.Enum<Initiator>("initiator", message.initiator(), v1::Initiator_IsValid);
  out.source.ip = path.OptionalAddress("source_ip", message.source_ip());
  out.source.port = path.Port("source_port", message.source_port());
  out.destination.ip = path.OptionalAddress("destination_ip", message.destination_ip());
  out.destination.port = path.Port("destination_port", message.destination_port());
  out.started = Boot(message.started_ns());
  out.duration = Nanos(message.duration_ns());
  out.outcome = path.Enum<Outcome>("outcome", message.outcome(), v1::Outcome_IsValid);
  out.error_number = message.error_number();
  out.syn_retransmits = message.syn_retransmits();
  out.destination_class = path.Enum<DestinationClass>(
      "destination_class", message.destination_class(), v1::DestinationClass_IsValid);
  out.certainty = path.Enum<Certainty>("certainty", message.certainty(), v1::Certainty_IsValid);
  out.unknown_reason = path.Enum<UnknownReason>("unknown_reason", message.unknown_reason(),
                                                v1::UnknownReason_IsValid);
  out.cause = path.Enum<Cause>("cause", message.cause(), v1::Cause_IsValid);
  out.layer = path.Enum<Layer>("layer", message.layer(), v1::Layer_IsValid);
  out.cluster = message.cluster();
  out.last_holder = DecodeHolder(message.last_holder(), FieldPath(path, "last_holder"));
  out.current_holder = DecodeHolder(message.current_holder(), FieldPath(path, "current_holder"));
  out.holder_at_outcome =
      DecodeHolder(message.holder_at_outcome(), FieldPath(path, "holder_at_outcome"));
  out.since_withdrawn = Nanos(message.since_withdrawn_ns());
  out.since_dead = Nanos(message.since_dead_ns());
  out.socket_cookie = message.socket_cookie();
  out.sequence = message.sequence();
  return out;
}

}  // namespace

Restored Decode(const V1& message, const FieldPath& path) {
  const auto part = [&](const auto& value, std::string_view field) {
    return Restored{
        std::make_shared<const RestoredPart>(DecodePart(value, FieldPath(path, field)))};
  };
  switch (message.part_case()) {
    case V1::kTotals:
      return part(message.totals(), "totals");
    case V1::kHeldAttempt:
      return part(message.held_attempt(), "held_attempt");
    case V1::kHeldEnd:
      return part(message.held_end(), "held_end");
    case V1::kNodeSilence:
      return part(message.node_silence(), "node_silence");
    case V1::kWatched:
      return part(message.watched(), "watched");
    case V1::kCountedPods:
      return part(message.counted_pods(), "counted_pods");
    case V1::kProxyPod:
      return part(message.proxy_pod(), "proxy_pod");
    case V1::kOfProxy:
      return part(message.of_proxy(), "of_proxy");
    case V1::kOfPod:
      return part(message.of_pod(), "of_pod");
    case V1::kOfChange:
      return part(message.of_change(), "of_change");
    case V1::kAttempts:
      return part(message.attempts(), "attempts");
    case V1::kConnections:
      return part(message.connections(), "connections");
    case V1::kWaits:
      return part(message.waits(), "waits");
    case V1::kWindows:
      return part(message.windows(), "windows");
    case V1::kKept:
      return part(message.kept(), "kept");
    case V1::kDepartures:
      return part(message.departures(), "departures");
    case V1::kChange:
      return part(message.change(), "change");
    case V1::kAddresses:
      return part(message.addresses(), "addresses");
    case V1::PART_NOT_SET:
      path.Fail("part", "none of the parts that this version knows is set");
      break;
  }
  return Restored{std::make_shared<const RestoredPart>()};
}

}  // namespace phantomd
