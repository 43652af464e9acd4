// CaseRun plays a CaseScript through an Engine, as a replay of its recording would, and tells what
// the Report says in lines that fit into a test.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "agent/engine/engine.h"
#include "tests/cases/case_script.h"

namespace phantomd::testing {

inline double InSeconds(Nanos d) { return std::chrono::duration<double>(d).count(); }

class CaseRun {
 public:
  explicit CaseRun(const CaseScript& script);

  // Judged attempts, how many of each kind, the commonest kind first:
  //   "40 DEAD CERTAIN STALE_EDS REFUSED L4\n2 LIVE CERTAIN ESTABLISHED L4\n"
  std::string Verdicts(std::string_view proxy = "") const;
  // Changes of workloads, newest first:
  //   "ROLLOUT shop/Deployment/catalog v1->v2: 3 pods, 5 withdrawn 40 dead 0 reused 0 other\n"
  std::string Rollouts() const;
  // Windows of the n-th change, slowest first, instants in seconds of the boot clock:
  //   "gw open, last 540.00, 3 attempts, 2 phantoms\nweb closed 10.10+-0.025, last 9.80, ..."
  std::string Windows(size_t rollout = 0) const;
  // Stale endpoints, by proxy and address: "gw 10.0.0.1 DEAD HELD_BY_PROXY\n"
  std::string Stale() const;

  // Every judged attempt, LIVE and EXTERNAL ones too, in the order of judgement.
  const std::vector<Connection>& judged() const { return judged_; }
  const Report& report() const { return *report_; }
  const Engine& engine() const { return *engine_; }

 private:
  std::vector<Connection> judged_;
  std::unique_ptr<Engine> engine_;
  std::shared_ptr<const Report> report_;
};

}  // namespace phantomd::testing
