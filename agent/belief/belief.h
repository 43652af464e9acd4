// Belief remembers what each proxy would have connected to, and when, from the snapshots of its
// admin API.
//
// A change is known only between two polls, so every belief has bounds: first_seen and last_seen
// are polls that listed the endpoint, gone_by the first complete poll after last_seen that did not.
// Example: polls at 10, 25 and 40 s; the endpoint is listed by the first two: first_seen 10 (not
// before the poll that preceded it), last_seen 25, gone_by 40: at 30 s it counts as still believed.
// Where the proxy keeps update_time, that bounds the change from above, and between fast polls
// dates it to the millisecond. Between the last poll that listed it and gone_by the belief counts
// as held; between the poll that did not list it yet and first_seen it may be, and is told too.
//
// Snapshots of one proxy must be applied in the order of `received`. Thread-compatible. Never reads
// a clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "agent/base/boot_time.h"
#include "agent/base/ids.h"
#include "agent/base/ip_addr.h"
#include "agent/belief/snapshot.h"

namespace phantomd {

// How a cluster held an endpoint at an instant.
enum class Hold {
  kAssigned = 0,  // in its assignment (EDS, DNS or static)
  kHostSet =
      1,  // in the host set only: removed by the control plane, kept by the proxy (HELD_BY_PROXY)
  kDropped = 2,  // it had been listed, and was surely gone at t (gone_by <= t)
};

// One cluster of one proxy that lists, or listed, ip:port around t. Views are valid until the next
// Apply.
struct ClusterBelief {
  std::string_view cluster;
  std::string_view service;       // "namespace/name", empty: not told
  std::string_view mesh_cluster;  // of the endpoint's metadata
  std::string_view workload;      // of the endpoint's metadata
  Discovery discovery = Discovery::kUnspecified;
  Layer layer = Layer::kUnspecified;
  Hold hold = Hold::kAssigned;
  BootTime first_seen;  // received-stamp of the first poll that listed it
  BootTime last_seen;   // received-stamp of the last one that did
  // Set where it may not have been listed yet at t, but had been before: gone by then.
  BootTime left_before;
  BootTime gone_by;               // Max: still listed. The instant by which it was surely gone
  bool received_before = false;   // a snapshot received before t listed it
  bool since_first_poll = false;  // the first poll that is remembered did: how long before, nobody
                                  // knows
  // How many connects the host counted between the polls around t: from the last poll received at
  // or before t to the first one requested at or after it, of which the second has counted a
  // connect at t and the first has not. -1: not known (one of the two polls is missing, did not
  // list the host, or more than three minutes have passed, or the host was replaced in between).
  int64_t connects_around = -1;
  bool failed_outlier_check = false;  // these two as last told
  bool failed_active_health_check = false;
};

// What one proxy believed about one ip:port around t.
struct BeliefFacts {
  // A good poll was received within 30 s (two slow polls) before or after t. Example: polls at 10,
  // 25 and 40 s, then failures until 400 s: usable from -20 s to 70 s and from 370 s on.
  bool usable = false;
  bool answered_after = false;  // a poll requested at or after t has been answered (or failed)
  // `received` of the first good poll requested at or after t, if all that it told is known: what
  // no cluster below lists was not listed then. Max: there is none yet.
  BootTime told_after = BootTime::Max();
  absl::InlinedVector<ClusterBelief, 2> clusters;
};

// One endpoint that a proxy believes in now.
struct Believer {
  ProxyId proxy;
  SocketAddr address;
  ClusterBelief belief;
};

class Belief {
 public:
  Belief();
  ~Belief();

  // Returns what a cluster lists that it did not list before.
  std::vector<SocketAddr> Apply(const BeliefSnapshot& snapshot);
  // Observations of this proxy were lost: the next incremental snapshots cannot be trusted until a
  // complete one.
  void Lost(const ProxyId& proxy, BootTime from, BootTime to);
  void Gone(const ProxyId& proxy, BootTime when);  // the proxy ended: its beliefs end too
  void SetWallOffset(WallOffset offset);           // for update_time
  // Forgets what ended a minute before `horizon` (a removal explains connections for a minute).
  void Compact(BootTime horizon);

  // Facts about ip:port; port 0 of a slot never matches.
  BeliefFacts At(const ProxyId& proxy, const SocketAddr& address, BootTime t) const;
  // Whether the proxy has any cluster of discovery kOriginalDst: an address in no cluster may come
  // through it.
  bool HasOriginalDst(const ProxyId& proxy) const;
  // Layer of its ORIGINAL_DST clusters, where one layer holds for all.
  Layer OriginalDstLayer(const ProxyId& proxy) const;

  // Who lists `ip` (any port) at this moment.
  std::vector<Believer> BelieversOf(const IpAddr& ip) const;
  bool BelievesNow(const ProxyId& proxy, const IpAddr& ip) const;
  // Every belief about `ip` (any port) that is remembered, of all proxies: for explain.
  std::vector<Believer> HistoryOf(const IpAddr& ip) const;

  // When the proxy let go of `ip` (any port, all clusters), at or after `from`: [request of the
  // last poll that listed it, first that did not], narrowed by update_time. It is the end of the
  // belief held at `from`, else of the first one after it; one that begins at or after `until` is
  // not looked at (the address had a new owner by then). not_after Max while it still lists it;
  // both Min if it never listed it at or after `from`.
  TimeBounds LetGo(const ProxyId& proxy, const IpAddr& ip, BootTime from,
                   BootTime until = BootTime::Max()) const;

  struct ProxyFacts {
    bool known = false;    // at least one good snapshot
    BootTime last_good;    // received
    BootTime last_answer;  // received, good or failed
    std::string error;     // of the last poll, empty: it succeeded
    uint32_t clusters = 0;
    uint32_t endpoints = 0;
    Nanos median_poll{0};  // received - requested of the recent polls
  };
  ProxyFacts Facts(const ProxyId& proxy) const;

  // Everything known, as what to tell an empty Belief in this order, so that it answers the same
  // from the horizon on. Without `lost` and `gone` the ends of proxies become complete snapshots
  // that list nothing, and clusters unconfirmed since lost observations count as confirmed.
  struct ExportSinks {
    std::function<void(BeliefSnapshot)> snapshot;
    std::function<void(const ProxyId&, BootTime told, BootTime from, BootTime to)> lost;
    std::function<void(const ProxyId&, BootTime when)> gone;
  };
  void Export(const ExportSinks& sinks) const;
  void Export(const std::function<void(BeliefSnapshot)>& sink) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace phantomd
