// Lifecycle::Impl: the parts of the index and how news flows into them.
//
//   pod_facts, pod_index   what was told of each pod
//   ip_timeline            which pods held an address
//   service_index          which slices list it
//   node_index, feed_log   what may be believed, and when
//   pod_ranges             where pods have their addresses
//   tenancy_bounds         facts -> bounds
//   service_clock          slices -> in service
//   departures             why pods went away
//   untold_pods            who may hide where
//
// lifecycle_apply.cc takes news in and forgets, lifecycle_answers.cc answers, lifecycle_export.cc
// says everything again. Include from those files only.
//
// Thread-compatible, like the Lifecycle that owns it.
#pragma once

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "agent/lifecycle/departures.h"
#include "agent/lifecycle/feed_log.h"
#include "agent/lifecycle/ip_timeline.h"
#include "agent/lifecycle/lifecycle.h"
#include "agent/lifecycle/node_index.h"
#include "agent/lifecycle/pod_index.h"
#include "agent/lifecycle/pod_ranges.h"
#include "agent/lifecycle/service_clock.h"
#include "agent/lifecycle/service_index.h"
#include "agent/lifecycle/tenancy_bounds.h"
#include "agent/lifecycle/untold_pods.h"

namespace phantomd {

class Lifecycle::Impl {
 public:
  Impl(Options given, WallOffset offset)
      : options(std::move(given)),
        rules{options.feed_delay, options.typical_delay, options.clock_error, offset},
        pod_feed(options.feed_delay),
        slice_feed(options.feed_delay),
        node_feed(options.feed_delay),
        services(slice_feed),
        pod_ranges(options.pod_ranges),
        nodes(pod_ranges),
        bounds(pods, ips, services, nodes, pod_feed, rules),
        departures(pods, rules) {}

  // --- lifecycle_apply.cc ---
  TouchedAddresses Apply(const PodChange& change, BootTime observed);
  TouchedAddresses Apply(const SliceChange& change, BootTime observed);
  TouchedAddresses Apply(const NodeChange& change, BootTime observed);
  TouchedAddresses Apply(const PodEnd& end, BootTime observed);
  void Apply(const FeedChange& change, BootTime observed);
  void Compact(BootTime horizon);

  // --- lifecycle_answers.cc ---
  AddressFacts At(const IpAddr& ip, BootTime t) const;
  TenancyFacts FactsOf(const ResolvedTenancy& resolved) const;
  ServiceState StateOf(const Tenancy& tenancy, BootTime t) const;
  UntoldReason WhyUntold(const IpAddr& ip, BootTime t) const;
  Meaning MeaningOf(std::string_view service, PodHandle pod) const;
  TimeBounds WithdrawnBounds(uint32_t pod) const;
  TimeBounds ReleasedBounds(uint32_t pod) const;
  bool IsStale(uint32_t newest, BootTime now) const;
  ResolvedTenancy Resolve(uint32_t tenancy) const;

  // --- lifecycle_export.cc ---
  class Exporter;
  void Export(const ExportSink& sink) const;

  FeedLog& Log(Feed feed) {
    return feed == Feed::kPods ? pod_feed : feed == Feed::kSlices ? slice_feed : node_feed;
  }
  const FeedLog& Log(Feed feed) const { return const_cast<Impl*>(this)->Log(feed); }

  const Options options;
  TimeRules rules;
  FeedLog pod_feed;
  FeedLog slice_feed;
  FeedLog node_feed;
  PodIndex pods;
  IpTimeline ips;
  ServiceIndex services;
  PodRanges pod_ranges;
  NodeIndex nodes;
  TenancyBounds bounds;
  Departures departures;
  UntoldPods untold;
  // How many addresses of a workload's pods a Service ever listed, by (service, workload).
  absl::flat_hash_map<std::pair<uint32_t, uint32_t>, int> served;
  BootTime horizon = BootTime::Min();  // of the last Compact; Min: never
  size_t live = 0;                     // pods told and not deleted
  size_t tombstones = 0;               // pods deleted and still remembered

 private:
  uint32_t FindTenancy(uint32_t pod, const IpAddr& ip) const;
  uint32_t InternTenancy(uint32_t pod, const IpAddr& ip);
  void LinkTenancy(uint32_t tenancy, BootTime observed);
  void TakeAddresses(uint32_t pod, const PodChange& change, BootTime observed);
  void TouchAll(uint32_t pod, TouchedAddresses* touched) const;
  bool CanForget(uint32_t pod, BootTime before) const;
  void ForgetPod(uint32_t pod);
  void RemoveTenancy(uint32_t tenancy);
  // Adds to `served` what the slices said of this pod, or takes it away.
  void CountServed(uint32_t pod, int by);
};

}  // namespace phantomd
