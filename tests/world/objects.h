// What the simulated world consists of: nodes, workloads, Services and pods, each with what is true
// of it and what the API server has stored of it.
//
// Plain values, owned by Cluster, at addresses that do not change.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/base/boot_time.h"
#include "agent/base/ip_addr.h"
#include "agent/lifecycle/changes.h"
#include "agent/lifecycle/departure.h"

namespace phantomd::world {

inline constexpr uint16_t kPort = 8080;
// The own node's CLOCK_REALTIME minus CLOCK_BOOTTIME; other machines are skewed against it.
inline constexpr Nanos kWallBase = std::chrono::seconds(1'800'000'000);

// A time of the API: another machine's clock, cut to whole seconds.
inline WallTime ApiTime(BootTime t, Nanos skew) {
  const int64_t nanos = (t - BootTime()).count() + kWallBase.count() + skew.count();
  return WallTime::FromNanos(nanos - nanos % 1'000'000'000);
}

struct Node {
  std::string name;
  IpAddr address;
  std::string pod_cidr;  // empty: the cluster assigns none
  Nanos skew{0};         // of its clock
  bool up = true;
  bool rejects_dead = false;  // answers for addresses without a pod by ICMP, instead of silence
  bool stored_ready = true;   // what the API server has
  bool stored_deleted = false;
  BootTime lease_renewed;
};

// How the containers of a workload behave.
struct Manners {
  double ready_after = 1.5;  // median, from start to readiness
  double stops_after = 1.0;  // median, from TERM to the last container's end
  double grace = 30;
  bool closes_port_on_term = false;
  bool job = false;       // runs once, to its end
  double job_takes = 10;  // median
};

struct Workload {
  WorkloadRef ref;
  Manners manners;
  std::string revision;  // the one it is to have
  uint32_t replicas = 0;
  uint32_t revisions = 0;       // how many it has had
  std::string broken_revision;  // whose pods never get ready
};

struct Service {
  std::string ns, name;
  const Workload* selects = nullptr;
  uint32_t slice_size = 100;  // endpoints a slice holds
  bool has_slices = true;
  bool sync_planned = false;
  std::vector<SliceChange> slices;  // as the API server has them
  std::string full_name() const { return ns + "/" + name; }
};

// One departure's name, as the contract gives it.
struct Change {
  WorkloadRef workload;
  Departure departure = Departure::kUnspecified;
  std::string target;  // revision
  std::string name;
  BootTime began, last;
};

struct Pod {
  PodRef ref;
  Workload* workload = nullptr;
  uint32_t node = 0;

  // --- What is true ---
  IpAddr ip;
  BootTime acquired, died;     // unset: not yet
  bool holds_address = false;  // from the allocation until its last container ended for good
  bool has_netns = false;      // something answers at its address, if only by RST
  bool listening = false;
  bool running = false;   // a container does
  bool stopping = false;  // its kubelet has begun to end it
  bool ready = false;     // its kubelet finds it so
  BootTime finished;      // of the last run of its containers
  uint32_t restarts = 0;
  const Change* departs_with = nullptr;

  // --- What the API server has stored ---
  PodChange stored;
  bool exists = false;
  BootTime deletion_requested;  // unset: not
  bool node_was_lost = false;   // for the API server, when its deletion was requested
  BootTime status_until;        // the kubelet's last status update arrives then; updates keep order
  std::map<const Service*, bool> listed;  // ready or not, where a slice lists it
  bool was_in_service = false;
  bool moving = false;  // between two slices of a Service
  bool withdrawn = false;
  BootTime withdrawn_at;

  bool terminal() const {
    return stored.phase == PodPhase::kSucceeded || stored.phase == PodPhase::kFailed;
  }
};

}  // namespace phantomd::world
