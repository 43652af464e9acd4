// A small language for a rollout as the ledger meets it: pods that run, are withdrawn and die, what
// a proxy's polls list, and attempts with the verdicts that fell on them.
//
//   scene.Runs(10, "a", "10.0.0.1", "v1");   // listed by the slice of shop/catalog from then on
//   scene.Leaves(100, "a");                  // deletion requested, terminating
//   scene.Dies(105, "a");                    // containers finished, object deleted
//   scene.Proxy("p").Complete(20, "web: 10.0.0.1:80");
//   scene.Count("p", 106, "a", DestinationClass::kDead);
//
// Seconds of the boot clock; the wall clock shows the same.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "agent/belief/belief.h"
#include "agent/ledger/ledger.h"
#include "agent/lifecycle/lifecycle.h"
#include "tests/belief/belief_script.h"

namespace phantomd::testing {

class LedgerScene {
 public:
  explicit LedgerScene(Ledger::Options options = {});

  // A pod of another workload than catalog is in no slice.
  void Runs(double t, const std::string& name, const std::string& ip, const std::string& revision,
            const std::string& workload = "catalog");
  void Leaves(double t, const std::string& name);
  void Dies(double t, const std::string& name);

  BeliefScript& Proxy(const std::string& id);
  void ProxyEnds(double t, const std::string& id);

  struct Facts {
    Initiator initiator = Initiator::kProxy;
    Outcome outcome = Outcome::kAbandoned;
    double wait = 1;
    bool withdrawn = true;  // the verdict says that the last holder was withdrawn before the SYN
    Cause cause = Cause::kStaleEds;
  };
  // `pod`: the verdict's last holder; empty: none. An empty proxy: not known.
  void Count(const std::string& proxy, double t, const std::string& pod,
             DestinationClass destination, const Facts& facts);
  void Count(const std::string& proxy, double t, const std::string& pod,
             DestinationClass destination) {
    Count(proxy, t, pod, destination, Facts{});
  }

  // After news up to t: windows are updated with all proxies.
  void Update(double t);
  const WorkloadChange& ChangeOf(const std::string& pod, double now);
  ChangeFigures Figures(const std::string& pod, double now);

  PodHandle Handle(const std::string& pod) const;
  phantomd::Proxy Described(const std::string& id) const;

  Lifecycle lifecycle;
  Belief belief;
  Ledger ledger;

 private:
  void TellSlice(double t);

  struct Pod {
    PodChange change;
    bool ready = true, gone = false;
  };
  std::map<std::string, Pod> pods_;
  std::map<std::string, std::unique_ptr<BeliefScript>> proxies_;
};

}  // namespace phantomd::testing
