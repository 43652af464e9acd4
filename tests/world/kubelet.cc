// What the kubelets of the simulated cluster do: sandboxes, containers, status updates.
#include <algorithm>

#include "tests/world/cluster.h"

namespace phantomd::world {

// The status is what the kubelet saw when it sent it; it is stored up to a second later. Updates of
// one pod keep their order.
void Cluster::Report(Pod& pod, PodPhase phase, bool told_finished) {
  if (!KubeletRuns(pod)) return;
  const bool ready = pod.ready;
  const std::vector<IpAddr> ips =
      pod.acquired.is_set() ? std::vector<IpAddr>{pod.ip} : std::vector<IpAddr>{};
  const WallTime finished =
      told_finished ? ApiTime(pod.finished, nodes_[pod.node].skew) : WallTime();
  pod.status_until =
      std::max(pod.status_until + Span(0.001), agenda_.now() + random_.Delay(0.12, 0.7, 0.9));
  agenda_.At(pod.status_until, [this, &pod, phase, ready, ips, finished] {
    if (!pod.exists || !KubeletRuns(pod)) return;
    pod.stored.ips = ips;
    pod.stored.phase = phase;
    pod.stored.ready = ready;
    pod.stored.containers_finished = finished;
    Store(pod);
  });
}

void Cluster::MakeSandbox(Pod& pod) {
  if (!pod.exists || !KubeletRuns(pod)) return;
  if (!Allocate(pod)) {
    agenda_.In(Span(random_.Uniform(0.2, 0.8)), [this, &pod] { MakeSandbox(pod); });
    return;
  }
  pod.acquired = agenda_.now();
  pod.holds_address = true;
  pod.has_netns = true;
  for (Watcher* watcher : watchers_) watcher->Acquired(pod);
  // The address is told by whichever status update comes next.
  agenda_.In(random_.Delay(0.5, 0.7, 2.5), [this, &pod] {
    if (!pod.running && !pod.stopping && !pod.finished.is_set()) {
      Report(pod, PodPhase::kPending, false);
    }
  });
  agenda_.In(random_.Delay(0.6, 0.6, 4), [this, &pod] { StartContainers(pod); });
}

void Cluster::StartContainers(Pod& pod) {
  if (pod.stopping || pod.died.is_set() || !KubeletRuns(pod)) return;
  if (pod.deletion_requested.is_set()) return;  // it is about to be stopped
  pod.running = true;
  const uint32_t run = pod.restarts;
  agenda_.In(random_.Delay(0.2, 0.8, 2), [&pod, run] {
    if (pod.running && !pod.stopping && pod.restarts == run) pod.listening = true;
  });
  agenda_.In(Span(0.01), [this, &pod] {
    if (pod.running && !pod.stopping) Report(pod, PodPhase::kRunning, false);
  });
  const Manners& manners = pod.workload->manners;
  if (pod.ref.revision != pod.workload->broken_revision) {
    agenda_.In(Span(0.2) + random_.Delay(manners.ready_after, 0.5, 15),
               [this, &pod, run] { BecomeReady(pod, run); });
  }
  if (!manners.job) return;
  agenda_.In(random_.Delay(manners.job_takes, 0.6, 60), [this, &pod] {
    if (!pod.stopping && pod.running && KubeletRuns(pod)) {
      pod.stopping = true;
      Finish(pod, random_.Chance(0.8) ? PodPhase::kSucceeded : PodPhase::kFailed);
    }
  });
}

void Cluster::BecomeReady(Pod& pod, uint32_t run) {
  if (!pod.running || pod.stopping || pod.restarts != run || !KubeletRuns(pod)) return;
  pod.listening = true;
  pod.ready = true;
  Report(pod, PodPhase::kRunning, false);
}

void Cluster::Crash(Pod& pod, Nanos back_off) {
  if (!pod.running || pod.stopping || !KubeletRuns(pod)) return;
  pod.running = pod.listening = pod.ready = false;
  pod.finished = agenda_.now();
  ++pod.restarts;
  // Its container is "terminated" for a moment, then "waiting" (CrashLoopBackOff).
  Report(pod, PodPhase::kRunning, random_.Chance(0.6));
  agenda_.In(back_off / 2, [this, &pod] {
    if (!pod.running && !pod.stopping && !pod.died.is_set()) Report(pod, PodPhase::kRunning, false);
  });
  agenda_.In(back_off, [this, &pod] { StartContainers(pod); });
}

void Cluster::Flap(Pod& pod, Nanos unready_for) {
  if (!pod.ready || pod.stopping || !KubeletRuns(pod)) return;
  pod.ready = false;
  Report(pod, PodPhase::kRunning, false);
  const uint32_t run = pod.restarts;
  agenda_.In(unready_for, [this, &pod, run] { BecomeReady(pod, run); });
}

void Cluster::Stop(Pod& pod, double grace) {
  if (pod.stopping || !KubeletRuns(pod) || !pod.has_netns) return;
  pod.stopping = true;
  if (!pod.running) {
    Finish(pod, PodPhase::kFailed);
    return;
  }
  const Manners& manners = pod.workload->manners;
  if (manners.closes_port_on_term) pod.listening = false;
  const Nanos takes = std::min(random_.Delay(manners.stops_after, 0.8, 60), Span(grace));
  agenda_.In(takes, [this, &pod] {
    if (KubeletRuns(pod)) Finish(pod, PodPhase::kSucceeded);
  });
}

// The last container has ended, for good.
void Cluster::Finish(Pod& pod, PodPhase phase) {
  if (pod.running) pod.finished = agenda_.now();
  const bool ran = pod.finished.is_set();
  pod.running = pod.listening = pod.ready = false;
  Die(pod);
  // Most kubelets tell the terminal phase before they let go of the object; a hurried one tells it
  // only in the object's last state.
  const bool told = pod.stored.departure_reason.empty() ? random_.Chance(0.85) : true;
  if (told || !pod.deletion_requested.is_set()) Report(pod, phase, ran);
  agenda_.In(random_.Delay(0.15, 0.7, 2), [this, &pod, phase, ran] {
    if (!KubeletRuns(pod)) return;
    TearDown(pod);
    if (!pod.deletion_requested.is_set()) return;  // a finished pod's object stays
    agenda_.In(random_.Delay(0.3, 0.6, 1.5), [this, &pod, phase, ran] {
      if (!KubeletRuns(pod) || !pod.exists) return;
      pod.stored.phase = phase;
      pod.stored.ready = false;
      if (ran) pod.stored.containers_finished = ApiTime(pod.finished, nodes_[pod.node].skew);
      StoreDeleted(pod);
    });
  });
}

void Cluster::TearDown(Pod& pod) {
  if (!pod.has_netns) return;
  pod.has_netns = false;
  Free(pod.node, pod.ip);
  for (Watcher* watcher : watchers_) watcher->NetworkGone(pod);
}

void Cluster::Die(Pod& pod) {
  if (pod.died.is_set()) return;
  pod.died = agenda_.now();
  pod.holds_address = false;
  for (Watcher* watcher : watchers_) watcher->Died(pod);
}

void Cluster::Evict(Pod& pod, const Change* change) {
  if (!pod.running || pod.stopping || !pod.exists || !KubeletRuns(pod)) return;
  pod.departs_with = change;
  pod.stored.departure_reason = "Evicted";
  pod.stopping = true;
  Finish(pod, PodPhase::kFailed);
}

void Cluster::LoseNode(Node& node) {
  node.up = false;
  const auto index = static_cast<uint32_t>(&node - nodes_.data());
  for (Pod& pod : pods_) {
    if (pod.node != index || !pod.has_netns) continue;
    pod.running = pod.listening = false;
    if (pod.holds_address) Die(pod);
  }
}

}  // namespace phantomd::world
