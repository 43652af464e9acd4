// Deployer: the controllers and the people of the simulated cluster. It keeps workloads at their
// size and revision, and makes happen what the scenario wants: rollouts forwards and back, scaling,
// deletions, crashes, jobs, lost nodes.
//
// It names every departure as the contract of change names has it; those names are truth.
// Thread-compatible.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "tests/world/cluster.h"

namespace phantomd::world {

class Deployer : public Watcher {
 public:
  Deployer(const Scenario& scenario, Agenda& agenda, Cluster& cluster, Random random);

  void MakeWorkloads();
  // Things happen from now until `end`; controllers go on.
  void Begin(BootTime end);
  const std::deque<Change>& changes() const { return changes_; }
  void Died(const Pod& pod) override;

 private:
  void Every(double per_minute, BootTime end, std::function<void()> action);
  void Reconcile(Workload& workload);
  void RollDeployment(Workload& workload, const std::vector<Pod*>& pods);
  void RollInPlace(Workload& workload, const std::vector<Pod*>& pods);
  void Replenish(Workload& workload, uint32_t missing);
  Pod& Create(Workload& workload, const std::string& name);
  void Delete(Pod& pod, Departure departure, const std::string& target);
  void DeleteOne(Pod& pod);
  // What takes a pod away: a rollout, if another revision replaces it. Of pods that keep a place
  // (StatefulSet, DaemonSet) only the successor tells, so it is null until that is made.
  const Change* ChangeByRevision(const Pod& pod);
  // A pod takes the place of another one.
  void Succeed(const Pod& pod);

  void Rollout(bool broken);
  void Scale();
  void RunJob();
  void LoseNode();
  Pod* AnyRunning();
  Workload& AnyServing();
  // People do not scale what they roll out, nor roll out what they scale, within a minute.
  Workload* AnyAtRest(const std::map<const Workload*, BootTime>& since);

  // The change that a departure at `when` (API time of its first pod) belongs to.
  const Change* ChangeFor(const Pod& pod, Departure departure, const std::string& target,
                          BootTime at, Nanos clock);

  const Scenario& scenario_;
  Agenda& agenda_;
  Cluster& cluster_;
  Random random_;
  std::deque<Change> changes_;
  Workload* jobs_ = nullptr;
  // The revision that a workload's pods are being replaced by: the wanted one, once it has a pod.
  std::map<const Workload*, std::string> begun_;
  std::map<const Workload*, BootTime> rolled_, scaled_;  // last
  uint64_t names_ = 0;
};

}  // namespace phantomd::world
