// Cluster: the Kubernetes of the simulated world. It runs pods, hands out addresses, keeps slices,
// and knows at every instant what is true.
//
// Kubelets report what happened with a lag of up to a second, the slice controller follows the API
// with a lag, nodes have clocks of their own. Who needs to know registers as a Watcher. The
// controllers that decide which pods there are to be live in Deployer. Thread-compatible.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "tests/world/agenda.h"
#include "tests/world/objects.h"
#include "tests/world/random.h"
#include "tests/world/scenario.h"

namespace phantomd::world {

// Told at the instant at which something is true, or stored by the API server.
class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void Stored(const PodChange&) {}
  virtual void Stored(const SliceChange&) {}
  virtual void Stored(const NodeChange&) {}
  virtual void Acquired(const Pod&) {}  // its address
  virtual void Withdrawn(const Pod&) {}
  virtual void Died(const Pod&) {}         // its containers
  virtual void NetworkGone(const Pod&) {}  // its network namespace, after them
};

enum class Answer { kAccepts, kRefuses, kSilence, kUnreachable };

class Cluster {
 public:
  Cluster(const Scenario& scenario, Agenda& agenda, Random random);

  void Watch(Watcher* watcher) { watchers_.push_back(watcher); }

  // --- What is true now ---
  const Pod* HolderOf(const IpAddr& ip) const;  // null: nobody
  Answer AnswerOf(const SocketAddr& address) const;
  bool IsPodAddress(const IpAddr& ip) const;

  // --- What the API server has ---
  std::vector<Node>& nodes() { return nodes_; }
  std::deque<Pod>& pods() { return pods_; }
  std::deque<Workload>& workloads() { return workloads_; }
  std::deque<Service>& services() { return services_; }
  Nanos api_skew() const { return api_skew_; }
  NodeChange StoredNode(const Node& node) const;

  // --- What may be done to it ---
  Workload& AddWorkload(WorkloadRef ref, Manners manners, uint32_t replicas);
  Service& AddService(const std::string& name, const Workload& selects);
  // `owner`: the workload's reference, or that of one Job of many.
  Pod& CreatePod(Workload& workload, const WorkloadRef& owner, const std::string& name,
                 uint32_t node);
  void SetDeparture(const Pod& pod, const Change* change);  // unless it has one
  // `change`: the departure's name by contract; the first request decides.
  void RequestDeletion(Pod& pod, const Change* change, double grace);
  // The object goes at once; the kubelet ends the containers after `notices_after`.
  void ForceDelete(Pod& pod, const Change* change, Nanos notices_after);
  void Evict(Pod& pod, const Change* change);
  void Crash(Pod& pod, Nanos back_off);
  void Flap(Pod& pod, Nanos unready_for);  // its readiness probe fails for a while
  void MoveBetweenSlices(Service& service, Pod& pod, Nanos gap);
  void LoseNode(Node& node);
  void StoreNode(Node& node, bool ready, bool deleted);
  void SetStoredReady(Pod& pod, bool ready);  // as the node controller does for a lost node

 private:
  friend class Kubelet;
  void Store(Pod& pod);
  void StoreDeleted(Pod& pod);
  void StoreSlice(const SliceChange& slice);
  void PlanSync(const Pod& pod);
  void PlanSync(Service& service);
  void Sync(Service& service);
  void RefreshService(Pod& pod);

  // --- Kubelet ---
  void MakeSandbox(Pod& pod);
  void StartContainers(Pod& pod);
  void BecomeReady(Pod& pod, uint32_t run);
  void Stop(Pod& pod, double grace);
  void Finish(Pod& pod, PodPhase phase);
  void TearDown(Pod& pod);
  void Report(Pod& pod, PodPhase phase, bool told_finished);
  bool KubeletRuns(const Pod& pod) const { return nodes_[pod.node].up; }
  void Die(Pod& pod);

  // --- Addresses ---
  bool Allocate(Pod& pod);
  void Free(uint32_t node, const IpAddr& ip);

  const Scenario& scenario_;
  Agenda& agenda_;
  Random random_;
  std::vector<Watcher*> watchers_;
  std::vector<Node> nodes_;
  std::deque<Workload> workloads_;
  std::deque<Service> services_;
  std::deque<Pod> pods_;
  absl::flat_hash_map<IpAddr, Pod*> occupants_;  // whose network namespace answers
  std::vector<std::deque<IpAddr>> free_;         // by node; one pool for all if it is shared
  Nanos api_skew_{0};
  uint64_t pods_made_ = 0;
};

}  // namespace phantomd::world
