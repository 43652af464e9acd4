#include "tests/wire/sample_restored.h"

namespace phantomd::testing {
namespace {

WaitSketch Sketch(SampleValues& v) {
  return WaitSketch({{-7, 2}, {1200, static_cast<uint64_t>(v.Number())}}, v.Delay(), v.Delay());
}

Histogram SampleHistogram(SampleValues& v) {
  Histogram out;
  for (uint64_t& bucket : out.buckets) bucket = static_cast<uint64_t>(v.Number());
  out.sum_seconds = 0.125 + static_cast<double>(v.Number());
  out.count = static_cast<uint64_t>(v.Number());
  return out;
}

SourceLabels Source(SampleValues& v) {
  return {v.Text("ns-"), v.Text("workload-"), v.Text("pod-")};
}

Holder SampleHolder(SampleValues& v) {
  return {.pod = SamplePod(v),
          .acquired = v.Boot(),
          .withdrawn = v.Boot(),
          .released_not_before = v.Boot(),
          .released_not_after = v.Boot(),
          .departure = Departure::kEviction,
          .evidence = v.Text("deleted ")};
}

Attempt SampleHeld(SampleValues& v) {
  return {.proxy_id = v.Id(),
          .netns_cookie = v.U64(),
          .process_id = v.U32(),
          .initiator = Initiator::kApplication,
          .source = v.Socket(),
          .destination = v.Socket(),
          .started = v.Boot(),
          .ended = v.Boot(),
          .outcome = Outcome::kUnreachable,
          .error_number = 113,
          .icmp_type = 3,
          .icmp_code = 1,
          .syn_retransmits = 2,
          .socket_cookie = v.U64(),
          .thread_id = v.U32(),
          .cgroup_id = v.U64(),
          .process_start = v.Boot(),
          .adopted = true};
}

ConnectionEnd SampleHeldEnd(SampleValues& v) {
  return {.socket_cookie = v.U64(),
          .ended = v.Boot(),
          .how = ConnectionEnd::How::kStalled,
          .bytes_sent = v.U64(),
          .bytes_received = v.U64(),
          .proxy_id = v.Id(),
          .netns_cookie = v.U64(),
          .process_id = v.U32(),
          .destination = v.Socket(),
          .established = v.Boot(),
          .adopted = true,
          .cgroup_id = v.U64(),
          .initiator = Initiator::kProxy,
          .thread_id = v.U32()};
}

PodTally Tally(SampleValues& v) {
  PodTally out;
  out.withdrawn = v.U64();
  out.dead = v.U64();
  out.reused = v.U64();
  out.other = v.U64();
  out.by_cause = {{Cause::kStaleDns, v.U64()}, {Cause::kBypass, v.U64()}};
  out.by_outcome = {{Outcome::kRefused, v.U64()}};
  out.by_layer = {{Layer::kMixed, v.U64()}};
  out.waits = Sketch(v);
  out.stranded = {{ConnectionEnd::How::kReset, Sketch(v)}};
  out.stalled = {{v.U64(), {v.Boot(), v.Delay()}}};
  out.proxies = {{v.Id(), {v.U64(), v.U64(), v.Boot()}}};
  return out;
}

Connection Kept(SampleValues& v) {
  return {.proxy_id = v.Id(),
          .proxy_name = v.Text("ns/pod-"),
          .initiator = Initiator::kProxy,
          .source = v.Socket(),
          .destination = v.Socket(),
          .started = v.Boot(),
          .duration = v.Delay(),
          .outcome = Outcome::kAbandoned,
          .error_number = 110,
          .syn_retransmits = 4,
          .destination_class = DestinationClass::kUnknown,
          .certainty = Certainty::kInferred,
          .unknown_reason = UnknownReason::kStartRace,
          .cause = Cause::kHeldByProxy,
          .layer = Layer::kL7,
          .cluster = v.Text("outbound|80||"),
          .last_holder = SampleHolder(v),
          .current_holder = SampleHolder(v),
          .holder_at_outcome = SampleHolder(v),
          .since_withdrawn = v.Delay(),
          .since_dead = v.Delay(),
          .socket_cookie = v.U64(),
          .sequence = v.U64()};
}

}  // namespace

std::vector<RestoredPart> EveryRestoredPart(SampleValues& v) {
  std::vector<RestoredPart> out;
  out.push_back(EngineTotals{.started = v.Boot(),
                             .next_housekeeping = v.Boot(),
                             .next_compaction = v.Boot(),
                             .compacted_to = v.Boot(),
                             .judged = v.U64(),
                             .lost = {{v.Text("attempt-"), v.U64()}},
                             .late = {{v.Text("pod-"), v.U64()}},
                             .mesh_cluster_votes = {{v.Text("cluster-"), v.U64()}},
                             .mesh_cluster = v.Text("cluster-"),
                             .feeds = {{Feed::kSlices, {v.U64(), v.Boot()}}},
                             .counted = {.by_class = {{DestinationClass::kReused, v.U64()}},
                                         .not_judged = {{Initiator::kIntercepted, v.U64()}},
                                         .kept = v.U64(),
                                         .dropped = v.U64(),
                                         .forget = true}});
  out.push_back(HeldAttempt{.attempt = SampleHeld(v),
                            .observed = v.Boot(),
                            .due = v.Boot(),
                            .first_tried = v.Boot(),
                            .next = v.Boot(),
                            .waits = {true, true, true, v.Id()},
                            .silence_told = true});
  out.push_back(HeldEnd{.end = SampleHeldEnd(v),
                        .observed = v.Boot(),
                        .first_tried = v.Boot(),
                        .next = v.Boot(),
                        .waits_for_feed = true,
                        .waits_for_address = true});
  out.push_back(NodeSilence{.node = v.Text("node-"),
                            .not_ready_since = v.Boot(),
                            .pods = {{PodUid(v.Text("uid-")), v.Boot(), v.Boot()}}});
  out.push_back(WatchedAddresses{.proxy = v.Id(), .ips = {v.Ip(), v.Ip()}});
  out.push_back(LastHolders{.pods = {PodUid(v.Text("uid-")), PodUid(v.Text("uid-"))}});
  out.push_back(PodOfProxy{.proxy = v.Id(), .pod = SamplePod(v)});
  out.push_back(LifecycleRemnant(
      DepartureRemnants{.waiting = {{PodUid(v.Text("uid-")), v.Boot()}},
                        .revisions = {{{v.Text("ns-"), v.Text("Kind"), v.Text("workload-")},
                                       v.Text("revision-"),
                                       v.Wall(),
                                       v.Boot()}},
                        .replacements = {PodUid(v.Text("uid-"))}}));
  out.push_back(LifecycleRemnant(
      ChangeRemnant{.name = v.Text("ns/Deployment/"),
                    .workload = {v.Text("ns-"), v.Text("Kind"), v.Text("workload-")},
                    .from_revision = v.Text("revision-"),
                    .to_revision = v.Text("revision-"),
                    .departure = Departure::kScaleDown,
                    .started = v.Boot(),
                    .superseded = v.Boot(),
                    .first = v.Wall(),
                    .last = v.Wall(),
                    .pods = {PodUid(v.Text("uid-"))}}));
  out.push_back(LifecycleRemnant(
      AddressRemnants{.forgot_addresses = true, .addresses = {{v.Ip(), true, true, true}}}));
  out.push_back(Counted(CountedProxy{.id = v.Id(),
                                     .source = Source(v),
                                     .known = true,
                                     .gone = v.Boot(),
                                     .last = v.Boot(),
                                     .by_class = {{DestinationClass::kExternal, v.U64()}}}));
  out.push_back(Counted(CountedPod{.uid = PodUid(v.Text("uid-")), .tally = Tally(v)}));
  out.push_back(Counted(CountedChange{.name = v.Text("ns/Deployment/"),
                                      .observed = {v.Id(), v.Id()},
                                      .settled = true,
                                      .settled_pods = v.U64(),
                                      .windows = {{.proxy = v.Id(),
                                                   .opened = v.Boot(),
                                                   .closed = v.Boot(),
                                                   .closed_error = v.Delay(),
                                                   .last_connection = v.Boot(),
                                                   .attempts = v.U64(),
                                                   .phantoms = v.U64(),
                                                   .believed = true}},
                                      .finished = v.Boot()}));
  out.push_back(Counted(CountedAttempts{
      .source = Source(v),
      .cells = {{Initiator::kProxy, DestinationClass::kDead, Outcome::kTimedOut, v.U64()}}}));
  out.push_back(
      Counted(CountedConnections{{Source(v),
                                  {v.Text("ns-"), v.Text("workload-"), v.Text("revision-")},
                                  DestinationClass::kDead,
                                  Certainty::kCertain,
                                  Cause::kStaleEds,
                                  Outcome::kNoRoute,
                                  Layer::kL4,
                                  v.U64()},
                                 v.Boot()}));
  out.push_back(
      Counted(CountedWaits{{v.Text("ns-"), v.Text("workload-"), v.Text("ns-"), v.Text("workload-"),
                            DestinationClass::kWithdrawn, Outcome::kLocalError, SampleHistogram(v)},
                           v.Boot()}));
  out.push_back(
      Counted(CountedWindows{{v.Text("ns-"), v.Text("workload-"), SampleHistogram(v)}, v.Boot()}));
  out.push_back(Counted(Kept(v)));
  return out;
}

}  // namespace phantomd::testing
